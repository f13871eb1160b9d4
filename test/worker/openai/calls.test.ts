/** Embeddings and models of the OpenAI convention, and its calls as plain predictions. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { Compatibilities } from "../../../src/protocol/model.ts";
import { expectEmbeddings, objections } from "../../published/validate.ts";
import { sized } from "../../support/sized.ts";
import type { Client } from "../support/client.ts";
import { ALL, answer, chat, completion, newOpenAi } from "../support/openai.ts";
import { newWorld } from "../support/world.ts";

const { client, model, fleet, username } = await newOpenAi({ visibility: "public" });

const VECTORS = [
  [0.5, -0.25],
  [1, 0],
];
/** `VECTORS` as base64 of little-endian float32. */
const BASE64 = ["AAAAPwAAgL4=", "AACAPwAAAAA="];

const embed = (more: object = {}) =>
  client.post("/v1/vendora/embeddings", { model, input: ["one", "two"], ...more });

const list = (embeddings: Json[]): Json => ({
  object: "list",
  model: "m",
  data: embeddings.map((embedding, index) => ({ object: "embedding", index, embedding })),
  usage: { prompt_tokens: 4, total_tokens: 4 },
});

describe("embeddings", () => {
  test.each([
    ["float", undefined, list(VECTORS), VECTORS],
    ["float", "float", list(BASE64), VECTORS],
    ["base64", "base64", list(VECTORS), BASE64],
    ["base64", "base64", list(BASE64), BASE64],
    ["float, of a list of vectors", "float", VECTORS, VECTORS],
  ])("embeddings are answered as %s", async (_, encoding_format, output, expected) => {
    const [response, job] = await Promise.all([embed({ encoding_format }), answer(fleet, output)]);
    expect(job.call).toBe("embeddings");
    expect(response.status).toBe(200);
    const body = await response.json<{ data: { embedding: unknown }[] }>();
    if (encoding_format !== "base64") expectEmbeddings(body);
    expect(body).toMatchObject({
      object: "list",
      model,
      usage: { prompt_tokens: expect.any(Number) },
    });
    expect(body.data.map(({ embedding }) => embedding)).toEqual(expected);
  });

  test("embeddings larger than what a waiting call holds arrive whole, in three calls at once", async () => {
    const large = Array.from({ length: 40_000 }, (_, n) => n + 0.125);
    const calls = Array.from({ length: 3 }, () => embed());
    for (const _ of calls) await answer(fleet, list([large, ...VECTORS]));
    for (const call of calls) {
      const { data } = await (await call).json<{ data: { embedding: number[] }[] }>();
      expect(data.map(({ embedding }) => embedding)).toEqual([large, ...VECTORS]);
    }
  });

  test.each([["text"], [[1, 2, 3]], [[[1, 2], [3]]]])(
    "embeddings take the input %j",
    async (input) => {
      const [response, job] = await Promise.all([embed({ input }), answer(fleet, list(VECTORS))]);
      expect([response.status, job.input?.input]).toEqual([200, input]);
      await response.text();
    },
  );
});

describe("models", () => {
  const listed = async (caller: Client) =>
    (await caller.ok<{ data: { id: string }[] }>("GET", "/v1/vendora/models")).data.map(
      ({ id }) => id,
    );

  test("the list of models has those that the caller may see and call", async () => {
    const hidden = await newOpenAi();
    const plain = await newWorld({ visibility: "public" });
    const found = await listed(hidden.client);
    expect(found).toEqual(expect.arrayContaining([model, hidden.model]));
    expect(found).not.toContain(plain.model);
    expect(await listed(client)).not.toContain(hidden.model);
  });

  test.each([model, encodeURIComponent(model), encodeURIComponent(`${model}:1`)])(
    "the model %s is found by its name",
    async (name) => {
      const body = await client.ok("GET", `/v1/vendora/models/${name}`);
      expect(body).toMatchObject({
        object: "model",
        owned_by: username,
        compatibilities: { ...ALL, vendorb_messages: false },
      });
      expect(objections("openai", "Model", body)).toEqual([]);
    },
  );

  test("a model that cannot be called is a 404", async () => {
    const { model: plain } = await newWorld({ visibility: "public" });
    for (const name of [plain, "nobody/none", "nonsense"]) {
      const { status, body } = await client.json("GET", `/v1/vendora/models/${name}`);
      expect([status, body]).toMatchObject([404, { error: { code: "model_not_found" } }]);
    }
  });
});

describe("a plain prediction of a container that speaks the convention", () => {
  const CALLS: [Partial<Compatibilities>, { [name: string]: Json }, string][] = [
    [ALL, { messages: [] }, "chat_completions"],
    [ALL, { input: "one" }, "responses"],
    [ALL, { prompt: "one" }, "completions"],
    [ALL, { query: "one", documents: ["two"] }, "rerank"],
    [{ vendora_embeddings: true }, { input: "one" }, "embeddings"],
    [{ vendora_audio_speech: true }, { input: "one" }, "audio_speech"],
    [{ vendora_audio_translations: true }, { file: "one" }, "audio_translations"],
    [ALL, { file: "one" }, "audio_transcriptions"],
    [ALL, { input: "one", voice: "low" }, "audio_speech"],
    [{ vendora_moderations: true }, { input: "one" }, "moderations"],
    [{}, {}, "chat_completions"],
  ];
  test.each(CALLS.slice(0, sized(3, CALLS.length)))(
    "a version with %j runs the input %j as the call %s",
    async (compatibilities, input, call) => {
      const world = await newOpenAi({ compatibilities });
      await world.client.create({ model: world.model, input });
      const job = await answer(world.fleet, completion("on"));
      expect([job.call, job.input]).toEqual([call, input]);
    },
  );

  test("a Cog container gets a call only from a call's route, not from a plain prediction", async () => {
    const world = await newOpenAi({ configuration: { interface: "cog" } });
    await world.client.create({ model: world.model, input: { messages: [] } });
    expect((await answer(world.fleet, "on")).call).toBeNull();
    const [response, job] = await Promise.all([
      chat(world.client, world.model),
      answer(world.fleet, "on", " and on"),
    ]);
    expect(job).toMatchObject({ call: "chat_completions", interface: "cog" });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: "on and on" } }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
  });
});
