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

test("an export of many models and versions takes fewer than 25 queries", async () => {
  const { client, user_id } = await newUser();
  const models = await Promise.all([newModel(client), newModel(client), newModel(client)]);
  for (const model of models) await publish(client, referenceOf(model));
  await env.DB.prepare(
    `INSERT INTO versions (model_id, number, release_notes, container_image_digest, repository, schemas, compatibilities, configuration, size, created_at)
      SELECT v.model_id, v.number + n.value, v.release_notes, v.container_image_digest, v.repository, v.schemas, v.compatibilities, v.configuration, 0, 0
      FROM versions AS v JOIN models AS m ON m.id = v.model_id, json_each(?) AS n WHERE m.owner_id = ?`,
  )
    .bind(JSON.stringify([...Array(30).keys()].map((n) => n + 1)), user_id)
    .run();
  const prepare = vi.spyOn(env.DB, "prepare");
  const lines = linesIn(await exported(client));
  expect(prepare.mock.calls.length).toBeLessThan(25);
  const numbers = Map.groupBy(ofType(lines, "version"), ({ model_id }) => model_id);
  expect(
    ofType(lines, "model")
      .map(({ model }) => model.id)
      .toSorted(),
  ).toEqual([...numbers.keys()].toSorted());
  for (const versions of numbers.values())
    expect(versions.map(({ version }) => version.number)).toEqual(
      Array.from({ length: 31 }, (_, n) => n + 1),
    );
});

test("an export has all pages of usage, separately for each token", async () => {
  const world = await newWorld();
  await world.waiting();
  const model_id = "01900000-0000-7000-8000-000000000000";
  const token_id = "01900000-0000-7000-8000-000000000001";
  const days = Array.from({ length: 600 }, (_, n) =>
    new Date(n * 86_400_000).toISOString().slice(0, 10),
  );
  for (const token of ["", token_id])
    await inAccount(
      world.user_id,
      `INSERT INTO usage SELECT value, ?, 1, ?, '', 'cpu', '', 0, 'ada/m', ?, '', '', 2, 1, 500, 0, 7, 3, 1, 0, 250000000, '{}'
        FROM json_each(?)`,
      ...[model_id, token, token && "CI", JSON.stringify(days)],
    );
  const rows = ofType(linesIn(await exported(world.client)), "usage").map(({ usage }) => usage);
  expect(rows.map(({ day }) => day)).toEqual(days.flatMap((day) => [day, day]));
  const counts = {
    model_id,
    model: "ada/m",
    ...{ version_number: 1, member_id: null, member: null, hardware: "cpu" },
    ...{ deployment: null, release: null },
    ...{ predictions: 2, failed: 1, execution_seconds: 0.5, setup_seconds: 0 },
    ...{ input_tokens: 7, output_tokens: 3, cached_tokens: 1, images: 0 },
    cost: "0.25",
  };
  expect(rows.slice(0, 2)).toEqual([
    { day: "1970-01-01", token_id: null, token: null, ...counts },
    { day: "1970-01-01", token_id, token: "CI", ...counts },
  ]);
});

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
