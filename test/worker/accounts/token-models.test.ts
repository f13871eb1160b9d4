/** Tokens for some models: these are run with them, and no others. */
import { afterAll, describe, expect, test } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import type { Token } from "../../../src/protocol/operator.ts";
import { newModel, pageAt, pathOf, publish, referenceOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { ALL, answerAll, MESSAGES, newVendora } from "../support/vendora.ts";
import { newClient, newUser, operator, unique } from "../support/world.ts";

const tokensOf = (username: string) => `/v1/operator/users/${username}/tokens`;

const modelsOf = async (username: string) =>
  (await pageAt<Token>(operator, tokensOf(username))).items[0]?.models;

/** A model that every call is for. */
async function newCallable(client: Client, fields: object = {}): Promise<Model> {
  const model = await newModel(client, fields);
  await publish(client, referenceOf(model), { compatibilities: ALL });
  return model;
}

const run = (client: Client, model: string) =>
  client.refused("/v1/predictions", { model, input: {} });

describe("what leads to a run", async () => {
  const { client, username, model: one, fleet } = await newVendora();
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
    ["create", (model) => ["/v1/predictions", { model, input: {} }]],
    ["create of a version", (model) => ["/v1/predictions", { model: `${model}:1`, input: {} }]],
    ["create below a model", (model) => [`/v1/models/${model}/predictions`, { input: {} }]],
    ["and its version", (model) => [`/v1/models/${model}/versions/1/predictions`, { input: {} }]],
    ["a chat", (model) => ["/v1/vendora/chat/completions", { model, messages: MESSAGES }]],
    ["embeddings", (model) => ["/v1/vendora/embeddings", { model, input: "x" }]],
    ["a transcription", (model) => ["/v1/vendora/audio/transcriptions", { model, file: "x" }]],
    ["a response", (model) => [RESPONSES, { model, input: "x" }]],
    ["in the background", (model) => [RESPONSES, { model, input: "x", background: true }]],
    ["one that goes on", (model) => [RESPONSES, { model, input: "x", previous_response_id }]],
  ];

  test.each(CALLS)("%s", async (_, callOf) => {
    expect([200, 202]).toContain((await limited.refused(...callOf(one))).status);
    const refused = await limited.refused(...callOf(other));
    expect(refused.status).toBe(403);
    const text = JSON.stringify(refused.body);
    expect(text).toContain(
      `This token is limited to ${one} and does not cover the model '${other}'`,
    );
  });

  test("the list of what can be called has what may be", async () => {
    const { data } = await limited.ok<{ data: { id: string }[] }>("GET", "/v1/vendora/models");
    expect(data.map(({ id }) => id)).toEqual([one]);
    const status = async (model: string) =>
      (await limited.json("GET", `/v1/vendora/models/${model}`)).status;
    expect([await status(one), await status(other)]).toEqual([200, 403]);
  });
});

test("what a token may not even see is no more there than to others", async () => {
  const { client: stranger } = await newUser();
  const hidden = await newCallable(stranger);
  const { client, username } = await newUser();
  const limited = await newClient(username, { models: [referenceOf(await newCallable(client))] });
  expect((await run(limited, referenceOf(hidden))).status).toBe(404);
});

describe("a model", () => {
  test("that has another name, and an owner with another, is still the one", async () => {
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

  test("that is deleted is no longer named; without any it is none, and not all", async () => {
    const { client, username } = await newUser();
    const [one, two] = [await newCallable(client), await newCallable(client)];
    const both = [one, two].map(referenceOf).toSorted();
    const limited = await newClient(username, { models: both });
    expect(await modelsOf(username)).toEqual(both);
    await client.ok("DELETE", pathOf(one));
    expect(await modelsOf(username)).toEqual([referenceOf(two)]);
    await client.ok("DELETE", pathOf(two));
    expect(await modelsOf(username)).toEqual([]);
    // Another one of the same name is another one.
    await newCallable(client, { name: two.name });
    const { status, body } = await run(limited, referenceOf(two));
    expect(status).toBe(403);
    expect(body.detail).toMatch(/^This token is limited to models that no longer exist/);
    const { data } = await limited.ok<{ data: object[] }>("GET", "/v1/vendora/models");
    expect(data).toEqual([]);
  });

  test("of somebody else that is made private is neither named nor run", async () => {
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
  test("is for all models unless it is said", async () => {
    const { client, username } = await newUser();
    const model = referenceOf(await newCallable(client));
    for (const models of [undefined, null]) {
      expect((await run(await newClient(username, { models }), model)).status).toBe(202);
      expect(await modelsOf(username)).toBeNull();
    }
  });

  test("names each model once", async () => {
    const { client, username } = await newUser();
    const model = referenceOf(await newCallable(client));
    await newClient(username, { models: [model, model] });
    expect(await modelsOf(username)).toEqual([model]);
  });

  test("is for models that its user may see: the others are told apart by their places", async () => {
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

  test("is for 1 to 50, by their names", async () => {
    const { username } = await newUser();
    for (const models of [[], Array(51).fill("a/b"), ["a"], ["a/b:1"], ["a/b/c"], "a/b"])
      expect((await operator.refused(tokensOf(username), { name: "x", models })).status).toBe(422);
  });
});
