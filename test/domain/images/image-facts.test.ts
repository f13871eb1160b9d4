import { describe, expect, test } from "vitest";
import { checkIsImage, imageFacts } from "../../../src/domain/images/image-facts.ts";
import { selectImage, UnfitImage, weightsOf } from "../../../src/domain/images/select-image.ts";
import { shownLabels } from "../../../src/domain/images/shown-labels.ts";
import { MEDIA_TYPES } from "../../../src/protocol/oci.ts";
import {
  COG_0_3,
  COG_0_9,
  COG_0_22,
  cogLabelsOf,
  configOf,
  indexOf,
  manifestOf,
  sha,
} from "./samples.ts";

const factsOf = (config: object) => imageFacts(manifestOf(), configOf(config));

test("an image without labels has only a size and a platform", () => {
  expect(factsOf({ Cmd: ["node", "server.js"] })).toEqual({
    platform: "linux/amd64",
    compressedSize: 3_500,
    layers: 2,
    labels: {},
    interface: undefined,
    server: undefined,
    cog: undefined,
    gpu: undefined,
    maxConcurrency: undefined,
    schemas: undefined,
    schemasFault: undefined,
    compatibilities: undefined,
    weights: [],
    expectsWeights: false,
  });
});

test("arm images are refused, with the command that builds the right one", () => {
  const read = () => imageFacts(manifestOf(), configOf({}, "arm64"));
  expect(read).toThrow(UnfitImage);
  expect(read).toThrow(
    "It is built for linux/arm64, but runners require linux/amd64. Build it with: docker build --platform linux/amd64",
  );
});

test("an artifact is not accepted as an image", () => {
  expect(() => checkIsImage(manifestOf([], MEDIA_TYPES.cogWeightConfig))).toThrow(
    "It is not a container image: its configuration is application/vnd.cog.weight.config.v1+json.",
  );
  checkIsImage(manifestOf([], MEDIA_TYPES.dockerConfig));
});

describe("labels of Cog", () => {
  test("labels of Cog 0.0 have a version and nothing to make schemas from", () => {
    const Labels = {
      "org.cogmodel.cog_version": "0.0.20",
      "org.cogmodel.config": '{"build":{"gpu":true}}',
      "org.cogmodel.type_signature": '{"inputs":[{"name":"text","type":"str"}],"output":"str"}',
    };
    const facts = factsOf({ Labels });
    expect(facts).toMatchObject({ interface: "cog", cog: "0.0.20", gpu: true });
    expect(facts.schemas).toBeUndefined();
  });

  test("labels of Cog 0.3 have the document below both names", () => {
    const names = ["run.cog.", "org.cogmodel."];
    const whole = factsOf({ Labels: cogLabelsOf("0.3.0", COG_0_3, {}, names) });
    expect(whole).toMatchObject({ interface: "cog", cog: "0.3.0", gpu: false });
    expect(whole.schemas?.prediction.input.required).toEqual(["image"]);
    const deprecated = factsOf({ Labels: cogLabelsOf("0.3.0", COG_0_3, {}, names.slice(1)) });
    expect(deprecated).toMatchObject({ cog: "0.3.0", schemas: whole.schemas });
  });

  test("labels of Cog 0.9 describe a model that streams text", () => {
    const facts = factsOf({ Labels: cogLabelsOf("0.9.26", COG_0_9, { build: { gpu: true } }) });
    expect(facts).toMatchObject({ gpu: true, maxConcurrency: undefined });
    expect(facts.schemas?.prediction.stream_output).toBe(true);
    expect(facts.compatibilities?.vendora_chat_completions).toBe(false);
  });

  test("labels of Cog 0.22 describe concurrency, chats and managed weights", () => {
    const config = {
      build: { gpu: true, cuda: "12.4", run: [{ command: "make" }] },
      concurrency: { max: 8 },
      weights: [{ name: "base", target: "/src/weights", source: "hf://acme/base" }],
    };
    const index = indexOf({
      a: { os: "linux", architecture: "amd64" },
      b: { artifactType: MEDIA_TYPES.cogWeight, annotations: { "run.cog.weight.name": "base" } },
    });
    const Labels = cogLabelsOf("0.22.0", COG_0_22, config);
    const facts = imageFacts(manifestOf(), configOf({ Labels }), index);
    expect(facts).toMatchObject({
      interface: "cog",
      maxConcurrency: 8,
      expectsWeights: true,
      weights: [{ name: "base" }],
    });
    expect(facts.compatibilities).toMatchObject({
      vendora_chat_completions: true,
      vendora_responses: true,
      vendora_embeddings: false,
    });
  });

  test.each([
    ["no JSON", "gpu: true"],
    ["other types", '{"build":[],"concurrency":{"max":"8"},"weights":{}}'],
    ["too many at a time", '{"concurrency":{"max":100000}}'],
  ])("a config with %s has no facts", (_, text) => {
    const Labels = { "run.cog.version": "0.16.0", "run.cog.config": text };
    expect(factsOf({ Labels })).toMatchObject({
      interface: "cog",
      gpu: false,
      maxConcurrency: undefined,
      expectsWeights: false,
    });
  });
});

describe("servers of OpenAI's API, by what their images start", () => {
  test.each([
    ["vllm", { Entrypoint: ["vllm", "serve"] }],
    ["vllm", { Entrypoint: ["python3", "-m", "vllm.entrypoints.openai.api_server"] }],
    ["vllm", { Entrypoint: [], Cmd: ["/bin/sh", "-c", "exec vllm serve --port 80 acme/base"] }],
    ["tgi", { Entrypoint: ["text-generation-launcher"], Cmd: ["--json-output"] }],
    ["tgi", { Entrypoint: ["./entrypoint.sh"], Cmd: ["--json-output"], Env: ["PORT=80"] }],
    ["tei", { Entrypoint: ["text-embeddings-router"] }],
    ["llama.cpp", { Entrypoint: ["/app/llama-server"], Env: ["LLAMA_ARG_HOST=0.0.0.0"] }],
    ["llama.cpp", { Entrypoint: ["/start.sh"], Env: ["LLAMA_ARG_HOST=0.0.0.0"] }],
    ["sglang", { Cmd: ["python3", "-m", "sglang.launch_server", "--model", "acme/base"] }],
  ])("an image that starts %s is recognized: %j", (server, config) => {
    expect(factsOf(config)).toMatchObject({ server, interface: "vendora" });
  });

  test.each([
    { Entrypoint: ["./entrypoint.sh"] },
    { Entrypoint: ["python3", "-m", "vllm.benchmark"] },
    { Cmd: ["constructor"] },
  ])("a config with %j does not start a server of OpenAI's API", (config) => {
    expect(factsOf(config).interface).toBeUndefined();
  });

  const llama = { Entrypoint: ["/app/llama-server"] };

  test.each([
    ["vendora_embeddings", { ...llama, Cmd: ["--embedding", "-m", "/model.gguf"] }],
    ["vendora_embeddings", { ...llama, Env: ["LLAMA_ARG_EMBEDDINGS=1"] }],
    ["vendora_rerank", { Cmd: ["sh", "-c", "llama-server --reranking -m /model.gguf"] }],
    [
      "vendora_rerank",
      { ...llama, Env: ["LLAMA_ARG_RERANKING=true", "LLAMA_ARG_EMBEDDINGS=true"] },
    ],
  ])("a llama.cpp image set to answer only %s has that compatibility: %j", (flag, config) => {
    const { compatibilities = {} } = factsOf(config);
    const set = Object.entries(compatibilities).flatMap(([name, is]) => (is ? name : []));
    expect(set).toEqual([flag]);
  });

  test("a llama.cpp image without such settings has no known compatibilities", () => {
    const config = { ...llama, Env: ["LLAMA_ARG_EMBEDDINGS=0"] };
    expect(factsOf(config).compatibilities).toBeUndefined();
  });

  test("labels of Cog take precedence over the command that an image starts", () => {
    const Labels = cogLabelsOf("0.22.0", undefined);
    expect(factsOf({ Labels, Entrypoint: ["vllm", "serve"] })).toMatchObject({ interface: "cog" });
  });
});

const amd64 = { os: "linux", architecture: "amd64" };
const arm64 = { os: "linux", architecture: "arm64", variant: "v8" };
const attestation = {
  os: "unknown",
  architecture: "unknown",
  annotations: { "vnd.docker.reference.type": "attestation-manifest" },
};
const weight = {
  os: "unknown",
  architecture: "unknown",
  artifactType: MEDIA_TYPES.cogWeight,
  annotations: {
    "run.cog.weight.name": "base",
    "run.cog.weight.set-digest": sha("d"),
    "run.cog.weight.size.uncompressed": "32457803776",
  },
};

describe("the image of an index", () => {
  test.each([
    ["of buildx, with attestations", { a: arm64, b: attestation, c: amd64, d: attestation }, "c"],
    ["of docker 29, for one platform", { c: amd64, d: attestation }, "c"],
    ["of cog, with weights", { a: weight, c: amd64 }, "c"],
    ["of one image without a platform", { c: {}, d: attestation }, "c"],
    ["beside another index", { a: { ...amd64, mediaType: MEDIA_TYPES.ociIndex }, c: amd64 }, "c"],
  ])("the image of an index is selected: %s", (_, entries, expected) => {
    expect(selectImage(indexOf(entries)).digest).toBe(sha(expected));
  });

  test("an index for another platform is refused, with the command that builds the right one", () => {
    const select = () => selectImage(indexOf({ a: arm64, b: attestation }));
    expect(select).toThrow(UnfitImage);
    expect(select).toThrow("It is built for linux/arm64/v8, but runners require linux/amd64.");
    expect(select).toThrow("docker build --platform linux/amd64");
  });

  test.each([
    ["nothing", {}, "no image for linux/amd64"],
    ["weights alone", { a: weight }, "not a container image"],
    ["several without a platform", { a: {}, b: {} }, "no image for linux/amd64"],
  ])("an index with %s is refused", (_, entries, message) => {
    expect(() => selectImage(indexOf(entries))).toThrow(message);
  });
});

test("the weights of an index are read as the index lists them", () => {
  const broken = { ...weight, annotations: { "run.cog.weight.size.uncompressed": "-1" } };
  expect(weightsOf(indexOf({ a: weight, b: broken, c: amd64, d: attestation }))).toEqual([
    { digest: sha("a"), name: "base", setDigest: sha("d"), size: 32_457_803_776 },
    { digest: sha("b"), name: "", setDigest: undefined, size: undefined },
  ]);
});

test("labels are shown by name, and Cog's OpenAPI documents without their text", () => {
  const { labels, more } = shownLabels({
    "run.cog.openapi_schema": "{}",
    "org.cogmodel.openapi_schema": "{}",
    b: "two",
    a: "one",
  });
  expect(more).toBe(0);
  expect(labels.map(({ name, value, isOpenapi }) => [name, value, isOpenapi])).toEqual([
    ["a", "one", false],
    ["b", "two", false],
    ["org.cogmodel.openapi_schema", "", true],
    ["run.cog.openapi_schema", "", true],
  ]);
});

test("at most 100 labels are shown, 200 characters of a name and 65,536 of all values", () => {
  const many = Object.fromEntries(
    Array.from({ length: 250 }, (_, n) => [`${1000 + n}${"x".repeat(300)}`, "v".repeat(1_000)]),
  );
  const { labels, more } = shownLabels(many);
  expect([labels.length, more]).toEqual([100, 150]);
  expect(labels.every(({ name, length }) => name.length === 200 && length === 1_000)).toBe(true);
  expect(labels.reduce((sum, { value }) => sum + value.length, 0)).toBe(65_536);
  expect(labels[0]?.value).toHaveLength(1_000);
  expect(labels.at(-1)?.value).toBe("");
});
