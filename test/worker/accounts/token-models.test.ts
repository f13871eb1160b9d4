/** Tokens for some models, which can run no others. */
import { afterAll, describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { Token } from "../../../src/protocol/operator.ts";
import { newModel, pageAt, pathOf, publish, referenceOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { ALL, answerAll, MESSAGES, newOpenAi } from "../support/openai.ts";
import { newClient, newUser, operator, unique } from "../support/world.ts";

const tokensOf = (username: string) => `/v1/operator/users/${username}/tokens`;

const modelsOf = async (username: string) =>
  (await pageAt<Token>(operator, tokensOf(username))).items[0]?.models;

/** Makes a model with all compatibilities. */
async function newCallable(client: Client, fields: object = {}): Promise<Model> {
  const model = await newModel(client, fields);
  await publish(client, referenceOf(model), { compatibilities: ALL });
  return model;
}

const run = (client: Client, model: string) =>
  client.refused("/v1/predictions", { model, input: {} });

describe("a request that runs a model", async () => {
  const { client, username, model: one, fleet } = await newOpenAi();
  const other = referenceOf(await newCallable(client));
  const limited = await newClient(username, { models: [one] });
  const over = new AbortController();
  const answering = answerAll(fleet, over.signal);
  const { id: previous_response_id } = await client.ok<{ id: string }>(
    "POST",
    "/v1/vendora/responses",
    { model: one, input: "Go on" },
  );

  afterAll(async () => {
    over.abort();
    await answering;
  });

  const RESPONSES = "/v1/vendora/responses";
  const CALLS: [string, (model: string) => [path: string, body: object]][] = [
    ["a create", (model) => ["/v1/predictions", { model, input: {} }]],
    ["a create of a version", (model) => ["/v1/predictions", { model: `${model}:1`, input: {} }]],
    ["a create below a model", (model) => [`/v1/models/${model}/predictions`, { input: {} }]],
    [
      "a create below a version",
      (model) => [`/v1/models/${model}/versions/1/predictions`, { input: {} }],
    ],
    ["a chat", (model) => ["/v1/vendora/chat/completions", { model, messages: MESSAGES }]],
    ["embeddings", (model) => ["/v1/vendora/embeddings", { model, input: "x" }]],
    ["a transcription", (model) => ["/v1/vendora/audio/transcriptions", { model, file: "x" }]],
    ["a response", (model) => [RESPONSES, { model, input: "x" }]],
    [
      "a response in the background",
      (model) => [RESPONSES, { model, input: "x", background: true }],
    ],
    [
      "a response that continues another",
      (model) => [RESPONSES, { model, input: "x", previous_response_id }],
    ],
  ];

  test.each(CALLS)("a limited token is refused for another model by %s", async (_, callOf) => {
    expect([200, 202]).toContain((await limited.refused(...callOf(one))).status);
    const refused = await limited.refused(...callOf(other));
    expect(refused.status).toBe(403);
    const text = JSON.stringify(refused.body);
    expect(text).toContain(
      `This token is limited to ${one} and does not cover the model '${other}'`,
    );
  });

  test("the list of callable models has only those of a limited token", async () => {
    const { data } = await limited.ok<{ data: { id: string }[] }>("GET", "/v1/vendora/models");
    expect(data.map(({ id }) => id)).toEqual([one]);
    const status = async (model: string) =>
      (await limited.json("GET", `/v1/vendora/models/${model}`)).status;
    expect([await status(one), await status(other)]).toEqual([200, 403]);
  });
});

test("a hidden model of another user is a 404 for a limited token", async () => {
  const { client: stranger } = await newUser();
  const hidden = await newCallable(stranger);
  const { client, username } = await newUser();
  const limited = await newClient(username, { models: [referenceOf(await newCallable(client))] });
  expect((await run(limited, referenceOf(hidden))).status).toBe(404);
});

describe("a model", () => {
  test("a model of a limited token can be run after it and its owner were renamed", async () => {
    const { client, username } = await newUser();
    const model = await newCallable(client);
    const limited = await newClient(username, { models: [referenceOf(model)] });
    await client.ok("PATCH", pathOf(model), { name: "renamed" });
    expect((await run(limited, `${username}/renamed`)).status).toBe(202);
    const later = unique("later");
    await client.ok("PATCH", "/v1/user", { username: later });
    expect((await run(limited, `${later}/renamed`)).status).toBe(202);
    expect(await modelsOf(later)).toEqual([`${later}/renamed`]);
  });

  test("a deleted model is removed from its tokens, which then cover no model, not all", async () => {
    const { client, username } = await newUser();
    const [one, two] = [await newCallable(client), await newCallable(client)];
    const both = [one, two].map(referenceOf).toSorted();
    const limited = await newClient(username, { models: both });
    expect(await modelsOf(username)).toEqual(both);
    await client.ok("DELETE", pathOf(one));
    expect(await modelsOf(username)).toEqual([referenceOf(two)]);
    await client.ok("DELETE", pathOf(two));
    expect(await modelsOf(username)).toEqual([]);
    // A new model of the same name is not covered.
    await newCallable(client, { name: two.name });
    const { status, body } = await run(limited, referenceOf(two));
    expect(status).toBe(403);
    expect(body.detail).toMatch(/^This token is limited to models that no longer exist/);
    const { data } = await limited.ok<{ data: object[] }>("GET", "/v1/vendora/models");
    expect(data).toEqual([]);
  });

  test("a model of another user that becomes private is neither named nor run by a limited token", async () => {
    const { client: stranger } = await newUser();
    const model = await newCallable(stranger, { visibility: "public" });
    const { username } = await newUser();
    const limited = await newClient(username, { models: [referenceOf(model)] });
    expect((await run(limited, referenceOf(model))).status).toBe(202);
    await stranger.ok("PATCH", pathOf(model), { visibility: "private", name: unique("secret") });
    expect(await modelsOf(username)).toEqual([]);
    expect((await run(limited, referenceOf(model))).status).toBe(404);
  });
});

describe("a token", () => {
  test("a token covers all models by default", async () => {
    const { client, username } = await newUser();
    const model = referenceOf(await newCallable(client));
    for (const models of [undefined, null]) {
      expect((await run(await newClient(username, { models }), model)).status).toBe(202);
      expect(await modelsOf(username)).toBeNull();
    }
  });

  test("a token names each model once", async () => {
    const { client, username } = await newUser();
    const model = referenceOf(await newCallable(client));
    await newClient(username, { models: [model, model] });
    expect(await modelsOf(username)).toEqual([model]);
  });

  test("a token for models that its user may not see is refused with their places", async () => {
    const { client, username } = await newUser();
    const own = referenceOf(await newCallable(client));
    const { client: stranger } = await newUser();
    const hidden = referenceOf(await newCallable(stranger));
    const shown = referenceOf(await newCallable(stranger, { visibility: "restricted" }));
    const create = (models: string[]) =>
      operator.refused(tokensOf(username), { name: "x", models });
    expect((await create([own, shown])).status).toBe(200);
    const { status, body } = await create([own, hidden, shown, `${username}/nothing`]);
    expect(status).toBe(422);
    expect(body.detail).toMatchObject([
      { loc: ["body", "models", "1"], msg: expect.stringContaining(hidden) },
      { loc: ["body", "models", "3"], msg: expect.stringContaining("nothing") },
    ]);
  });

  test("a token takes 1 to 50 models, by their names", async () => {
    const { username } = await newUser();
    for (const models of [[], Array(51).fill("a/b"), ["a"], ["a/b:1"], ["a/b/c"], "a/b"])
      expect((await operator.refused(tokensOf(username), { name: "x", models })).status).toBe(422);
  });
});
