/** Schemas and compatibilities of a version, derived from what its server describes at its first start. */
import { describe, expect, test } from "vitest";
import { NO_COMPATIBILITIES } from "../../../src/domain/images/compatibilities.ts";
import { ANY_SCHEMAS, derived, described } from "../../../src/domain/images/server-description.ts";
import { checkSchema, validateInput } from "../../../src/domain/schemas/json-schema.ts";
import type { Compatibilities } from "../../../src/protocol/model.ts";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { COG_0_22, openapiOf } from "./samples.ts";

const callsOf = (compatibilities: Compatibilities) =>
  Object.entries(compatibilities)
    .filter(([, can]) => can)
    .map(([name]) => name);

const pathsOf = (...paths: string[]): ServerDescription => ({
  openapi: JSON.stringify({
    openapi: "3.1.0",
    paths: Object.fromEntries(["/health", ...paths].map((path) => [path, { post: {} }])),
  }),
});

const models = JSON.stringify({ object: "list", data: [{ id: "base", owned_by: "llamacpp" }] });

describe("servers of OpenAI's API", () => {
  test.each([
    [
      "vLLM",
      pathsOf("/v1/chat/completions", "/v1/responses", "/v1/messages"),
      ["vendora_chat_completions", "vendora_responses", "vendorb_messages"],
    ],
    ["vLLM for embeddings", { ...pathsOf("/v1/embeddings"), models }, ["vendora_embeddings"]],
    [
      "chats alone: runners translate responses",
      pathsOf("/v1/chat/completions"),
      ["vendora_chat_completions", "vendora_responses"],
    ],
    [
      "llama.cpp",
      { models },
      ["vendora_chat_completions", "vendora_responses", "vendora_completions"],
    ],
    [
      "an unknown server",
      { models: JSON.stringify({ data: [{ id: "base", owned_by: "them" }] }) },
      ["vendora_chat_completions", "vendora_responses"],
    ],
    [
      "TGI",
      { info: '{"model_id":"acme/base","router":"text-generation-router"}', models: "{}" },
      ["vendora_chat_completions", "vendora_responses", "vendora_completions"],
    ],
    ["TEI", { info: '{"model_type":{"embedding":{"pooling":"mean"}}}' }, ["vendora_embeddings"]],
    ["TEI, older", { info: '{"model_type":"embedding"}' }, ["vendora_embeddings"]],
    ["TEI for ranks", { info: '{"model_type":{"reranker":{"id2label":{}}}}' }, ["vendora_rerank"]],
    ["TEI for classes", { info: '{"model_type":{"classifier":{"id2label":{}}}}' }, []],
    [
      "vLLM for ranks",
      pathsOf("/v1/rerank", "/v1/completions"),
      ["vendora_completions", "vendora_rerank"],
    ],
    ["a server that describes nothing", {}, []],
    ["a server that describes nonsense", { openapi: "<html>", models: "[", info: "null" }, []],
  ])("the compatibilities follow from the description of %s", (_, description, calls) => {
    const { schemas, compatibilities } = described("vendora", {}, description);
    expect(callsOf(compatibilities)).toEqual(calls);
    checkSchema(schemas.prediction.input, ["body"]);
  });

  test("a chat model takes messages, and the parameters that a server adds to ours", () => {
    const { schemas } = described("vendora", {}, { models });
    const { input } = schemas.prediction;
    const messages = [{ role: "user", content: "Hi" }];
    validateInput(input, { messages, temperature: null, top_k: 5 });
    expect(() => validateInput(input, { prompt: "Hi" })).toThrow("messages");
    expect(schemas.prediction.stream_output).toBe(true);
  });

  test("a server that embeds and chats takes the body of either call", () => {
    const { schemas } = described("vendora", {}, pathsOf("/v1/chat/completions", "/v1/embeddings"));
    validateInput(schemas.prediction.input, { input: ["a"] });
    validateInput(schemas.prediction.input, { messages: [{}] });
  });

  test("a server that speaks takes a text, and one that transcribes takes a file", () => {
    const speaks = described("vendora", {}, pathsOf("/v1/audio/speech")).schemas.prediction;
    validateInput(speaks.input, { input: "Hi", voice: "alloy", speed: null });
    expect(() => validateInput(speaks.input, { voice: "alloy" })).toThrow("input");
    expect(speaks.stream_output).toBe(true);
    const paths = pathsOf("/v1/audio/transcriptions", "/v1/audio/translations");
    const hears = described("vendora", {}, paths).schemas.prediction;
    expect(hears.input.properties).toHaveProperty("file.format", "uri");
    expect(() => validateInput(hears.input, { language: "en" })).toThrow("file");
    const both = described("vendora", {}, pathsOf("/v1/audio/speech", "/v1/audio/transcriptions"));
    expect(Object.keys(both.schemas.prediction.input.properties ?? {})).toEqual(["input", "file"]);
    expect(both.schemas.prediction.input).not.toHaveProperty("required");
  });

  test("a server that draws takes a prompt, and a picture where it edits", () => {
    const of = (...paths: string[]) =>
      described("vendora", {}, pathsOf(...paths)).schemas.prediction;
    const namesOf = ({ input: { properties } }: ReturnType<typeof of>) =>
      Object.keys(properties ?? {});
    const draws = of("/v1/images/generations");
    validateInput(draws.input, { prompt: "Hills", size: null, n: 2 });
    expect(() => validateInput(draws.input, { n: 2 })).toThrow("prompt");
    expect(draws.stream_output).toBe(false);
    expect(namesOf(draws)).toEqual(["prompt", "size", "n"]);
    const both = of("/v1/images/generations", "/v1/images/edits");
    validateInput(both.input, { prompt: "Hills" });
    expect(both.input.properties).toHaveProperty("image.format", "uri");
    const edits = of("/v1/images/edits");
    expect(() => validateInput(edits.input, { prompt: "Hills" })).toThrow("image");
    const chats = of("/v1/images/generations", "/v1/chat/completions");
    validateInput(chats.input, { messages: [{}] });
    expect(namesOf(chats)).toContain("prompt");
  });

  test.each([
    ["/v1/completions", { prompt: "Once" }, "prompt", true],
    ["/v1/moderations", { input: "a" }, "input", false],
    ["/v1/rerank", { query: "a", documents: ["b"] }, "query", false],
  ])("a server that has %s alone takes the body of that call", (path, body, required, streams) => {
    const { prediction } = described("vendora", {}, pathsOf(path)).schemas;
    validateInput(prediction.input, body);
    expect(() => validateInput(prediction.input, {})).toThrow(required);
    expect(prediction.stream_output).toBe(streams);
  });

  test("a server that embeds answers as a whole", () => {
    const { prediction } = described("vendora", {}, pathsOf("/v1/embeddings")).schemas;
    expect(prediction).toMatchObject({ output: { type: "object" }, stream_output: false });
    expect(() => validateInput(prediction.input, {})).toThrow("input");
  });
});

describe("Cog servers without labels", () => {
  test("a Cog server without labels describes its schemas, from which its calls follow", () => {
    const { schemas, compatibilities } = described("cog", {}, { openapi: COG_0_22 });
    expect(schemas.prediction.input.required).toEqual(["messages"]);
    expect(callsOf(compatibilities)).toEqual(["vendora_chat_completions", "vendora_responses"]);
  });

  test("a Cog server whose schemas are too large takes any object, and the fault says why", () => {
    const description = "x".repeat(100_000);
    const openapi = openapiOf({ Input: { type: "object", description }, Output: {} });
    expect(described("cog", {}, { openapi })).toEqual({
      schemas: ANY_SCHEMAS,
      compatibilities: NO_COMPATIBILITIES,
      fault: "they can have at most 100000 characters as JSON",
    });
    const schemas = { prediction: { input: {}, output: {}, stream_output: false } };
    expect(described("cog", { schemas }, { openapi })).not.toHaveProperty("fault");
  });

  test("a Cog server that describes nothing takes any object", () => {
    const told = described("cog", {}, {});
    expect(told).toEqual({ schemas: ANY_SCHEMAS, compatibilities: NO_COMPATIBILITIES });
  });
});

describe("what is given stays", () => {
  const schemas = { prediction: { input: { type: "object" }, output: {}, stream_output: false } };
  const embeds = { ...NO_COMPATIBILITIES, vendora_embeddings: true };

  test.each(["cog", "vendora"] as const)(
    "schemas and compatibilities that were given stay: %s",
    (spoken) => {
      const known = { schemas, compatibilities: embeds };
      expect(described(spoken, known, { openapi: COG_0_22, models })).toEqual(known);
      expect(derived(spoken, known)).toEqual(known);
    },
  );

  test("the schemas of a server follow from what it can do", () => {
    const { schemas: made } = derived("vendora", { compatibilities: embeds });
    expect(made?.prediction.input.required).toEqual(["input"]);
  });

  test("a server's calls do not follow from its schemas, those of a Cog model do", () => {
    expect(derived("vendora", { schemas }).compatibilities).toBeUndefined();
    expect(derived("cog", { schemas }).compatibilities).toEqual(NO_COMPATIBILITIES);
  });
});
