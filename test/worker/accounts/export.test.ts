/** The export of an account, which has all of it except secrets. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { EXPORT, exported, linesIn, ofType } from "../support/export.ts";
import {
  beginUpload,
  nobody,
  rowOfUpload,
  storeFile,
  storeValue,
  uploaded,
} from "../support/files.ts";
import { inAccount, objectOf, rowOf } from "../support/objects.ts";
import { setVariable } from "../support/variables.ts";
import { createUser, newClient, newUser, newWorld, type World } from "../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

async function full(): Promise<World & { ids: string[]; secret: string }> {
  const world = await newWorld({ configuration: {} });
  const { client, model } = world;
  await setVariable(client, model, "HF_TOKEN", "hf_the_secret");
  await publish(client, model);
  const { secret } = await newEndpoint(client);
  await uploaded(client, "what was uploaded");
  const runner = await world.runner();
  const first = await world.waiting();
  const { job, channel } = await runner.work();
  const url = await storeFile(runner, job, "a file of the output");
  await channel.report([await storeValue(runner, job, "v".repeat(300_000))]);
  await channel.succeed(url);
  const second = await world.waiting();
  await client.cancel(second);
  await eventually(async () => {
    for (const id of [first, second])
      expect(await rowOf(id)).toMatchObject({
        status: expect.stringMatching(/succeeded|canceled/),
      });
  });
  return { ...world, ids: [second, first], secret };
}

test("an export has everything of its account, and nothing of others", async () => {
  const [world, other] = [await full(), await full()];
  const text = await exported(world.client);
  const lines = linesIn(text);
  expect([...new Set(lines.map(({ type }) => type))]).toEqual([
    "export",
    "token",
    "model",
    "version",
    "webhook_endpoint",
    "upload",
    "usage",
    "audit_event",
    "prediction",
    "file",
    "end",
  ]);
  // `email` is null, because a user that an operator made has no login.
  expect(ofType(lines, "export")).toMatchObject([
    { user: { username: world.username }, email: null },
  ]);
  const [model] = ofType(lines, "model");
  expect(model).toMatchObject({ variable_names: ["HF_TOKEN"] });
  const model_id = model?.model.id;
  expect(ofType(lines, "version")).toMatchObject([
    { model_id, version: { number: 1 } },
    { model_id, version: { number: 2 } },
  ]);
  const predictions = ofType(lines, "prediction").map(({ prediction }) => prediction);
  expect(predictions.map(({ id }) => id)).toEqual(world.ids);
  for (const one of predictions) expect(one).toEqual(await world.client.get(one.id));
  expect(predictions[1]?.output).toEqual([
    "v".repeat(300_000),
    expect.stringContaining("/v1/files/"),
  ]);
  expect(ofType(lines, "usage")).toMatchObject([
    { usage: { model: world.model, model_id, predictions: 2 } },
  ]);
  for (const [url, content] of [
    [ofType(lines, "file")[0]?.url, "a file of the output"],
    [ofType(lines, "upload")[0]?.upload.file_url, "what was uploaded"],
  ])
    expect(await (await nobody.fetch(url ?? "")).text()).toBe(content);
  expect(lines.at(-1)).toEqual({ type: "end", predictions: 2, failures: 0, next_url: null });
  for (const foreign of [other.user_id, other.username, ...other.ids])
    expect(text).not.toContain(foreign);
});

test("an export has no secrets", async () => {
  const world = await full();
  const text = await exported(world.client);
  const rows = await env.DB.batch<Record<string, unknown>>([
    env.DB.prepare("SELECT hash FROM tokens WHERE user_id = ?").bind(world.user_id),
    env.DB.prepare("SELECT sealed FROM model_variables"),
    env.DB.prepare(
      "SELECT value ->> 'secret' FROM webhook_endpoints, json_each(secrets) WHERE user_id = ?",
    ).bind(world.user_id),
    env.DB.prepare("SELECT multipart_id FROM uploads WHERE user_id = ?").bind(world.user_id),
  ]);
  const secrets = rows.flatMap(({ results }) => results.flatMap((row) => Object.values(row)));
  expect(secrets.length).toBeGreaterThanOrEqual(4);
  const { secret, client, runnerToken } = world;
  for (const one of [...secrets, secret, "hf_the_secret", "whsec_", client.token, runnerToken])
    expect(text).not.toContain(String(one));
});

test("an export has pending uploads without URLs to write to, and no removed uploads", async () => {
  const { client } = await newUser();
  const { id } = await beginUpload(client, 10);
  const going = await uploaded(client);
  await env.DB.prepare("UPDATE uploads SET removed_at = 1 WHERE id = ?").bind(going.id).run();
  expect((await rowOfUpload(going.id)).removed_at).toBe(1);
  const text = await exported(client);
  expect(ofType(linesIn(text), "upload")).toMatchObject([
    { upload: { id, status: "pending", file_url: null } },
  ]);
  expect(text).not.toContain("signature=");
});

test("an export has removed predictions without their data", async () => {
  const world = await newWorld();
  const ids = [await world.waiting(), await world.waiting(), await world.waiting()];
  const [kept = "", deleted = "", past = ""] = ids;
  for (const id of ids) await world.client.cancel(id);
  await world.client.ok("DELETE", `/v1/predictions/${deleted}`);
  // The account object removes the data of a short run, without a mark in its row.
  const object = await objectOf(past);
  await object.remove(true);
  await inAccount(world.user_id, "UPDATE predictions SET kept_seconds = 60 WHERE id = ?", past);
  await eventually(async () => expect(await rowOf(deleted)).toMatchObject({ data_removed: 1 }));
  const found = ofType(linesIn(await exported(world.client)), "prediction");
  const [gone, removed, whole] = found.map(({ prediction }) => prediction);
  for (const [one, id] of [
    [gone, past],
    [removed, deleted],
  ] as const)
    expect(one).toMatchObject({ id, data_removed: true, input: null, output: null });
  expect(whole).toMatchObject({ id: kept, data_removed: false, input: {} });
});

test("an export has all files of a prediction whose files fill several pages of R2", async () => {
  const world = await newWorld();
  const { id, runner, job, channel } = await world.begun();
  await channel.succeed(await storeFile(runner, job, "one"));
  await storeValueBefore(id);
  const more = Array.from({ length: 12 }, (_, n) => `${id}/${n + 1_000}-more`);
  await Promise.all(more.map((key) => env.FILES.put(key, "")));
  const list = env.FILES.list.bind(env.FILES);
  vi.spyOn(env.FILES, "list").mockImplementation((options) => list({ ...options, limit: 5 }));
  const files = ofType(linesIn(await exported(world.client)), "file");
  expect(files.length).toBe(13);
  expect(new Set(files.map(({ url }) => url)).size).toBe(13);
});

/** Stores a value in R2, which the export must not list as a file. */
const storeValueBefore = (id: string) => env.FILES.put(`${id}/values/one`, "1");

test("an export of an empty account has its profile, its token and its audit log", async () => {
  const { client } = await createUser();
  const lines = linesIn(await exported(client));
  expect(lines.map(({ type }) => type)).toEqual([
    "export",
    "token",
    "audit_event",
    "audit_event",
    "audit_event",
    "end",
  ]);
  const actions = ofType(lines, "audit_event").map(({ audit_event: { action } }) => action);
  expect(actions).toEqual(["user.exported", "token.created", "user.created"]);
});

test("an export needs a token for all models with the scope read", async () => {
  const { client, username } = await newUser();
  const model = referenceOf(await newModel(client));
  const limited = await newClient(username, { models: [model] });
  const blind = await newClient(username, { scopes: ["write", "predict"] });
  for (const one of [limited, blind]) expect((await one.json("GET", EXPORT)).status).toBe(403);
  expect((await nobody.json("GET", EXPORT)).status).toBe(401);
});
