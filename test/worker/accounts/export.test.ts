/** The export of an account: all of it, nothing secret, in bounded steps. */
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { type ExportLine, exportLine } from "../../../src/protocol/export.ts";
import { newModel, publish, referenceOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { newEndpoint } from "../support/endpoints.ts";
import { eventually } from "../support/eventually.ts";
import { storeFile, storeValue, uploaded } from "../support/files.ts";
import { captureLog } from "../support/log.ts";
import { inAccount, rowOf } from "../support/objects.ts";
import { newClient, newUser, newWorld, type World } from "../support/world.ts";

afterEach(() => void vi.restoreAllMocks());

async function textOf(client: Client, path = "/v1/user/export"): Promise<string> {
  const response = await client.fetch(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/jsonl");
  return response.text();
}

const linesIn = (text: string): ExportLine[] => {
  expect(text.endsWith("\n")).toBe(true);
  return text
    .slice(0, -1)
    .split("\n")
    .map((line) => exportLine.parse(JSON.parse(line)));
};

const ofType = <Type extends ExportLine["type"]>(lines: ExportLine[], type: Type) =>
  lines.filter((line): line is Extract<ExportLine, { type: Type }> => line.type === type);

async function full(): Promise<World & { ids: string[] }> {
  const world = await newWorld({ configuration: {} });
  const { client, model } = world;
  await client.ok("PUT", `/v1/models/${model}/variables/HF_TOKEN`, { value: "hf_the_secret" });
  await publish(client, model);
  await newEndpoint(client);
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
  return { ...world, ids: [second, first] };
}

test("has everything of an account, and of nobody else", async () => {
  const [world, other] = [await full(), await full()];
  const text = await textOf(world.client);
  const lines = linesIn(text);
  expect([...new Set(lines.map(({ type }) => type))]).toEqual([
    "export",
    "token",
    "model",
    "version",
    "webhook_endpoint",
    "upload",
    "usage",
    "prediction",
    "file",
    "end",
  ]);
  expect(ofType(lines, "model")).toMatchObject([{ variable_names: ["HF_TOKEN"] }]);
  expect(ofType(lines, "version").map(({ version }) => version.number)).toEqual([2, 1]);
  const predictions = ofType(lines, "prediction").map(({ prediction }) => prediction);
  expect(predictions.map(({ id }) => id)).toEqual(world.ids);
  expect(predictions[1]).toMatchObject({
    status: "succeeded",
    output: ["v".repeat(300_000), expect.stringContaining("/v1/files/")],
  });
  expect(ofType(lines, "usage")).toMatchObject([{ usage: { model: world.model, predictions: 2 } }]);
  const [file] = ofType(lines, "file");
  const found = await world.client.fetch(new URL(file?.url ?? "").href);
  expect(await found.text()).toBe("a file of the output");
  expect(lines.at(-1)).toEqual({ type: "end", next_url: null });
  for (const id of [other.user_id, ...other.ids]) expect(text).not.toContain(id);
});

test("has nothing secret", async () => {
  const world = await full();
  const text = await textOf(world.client);
  const rows = await env.DB.batch<Record<string, unknown>>([
    env.DB.prepare("SELECT hash FROM tokens WHERE user_id = ?").bind(world.user_id),
    env.DB.prepare("SELECT sealed FROM model_variables"),
  ]);
  const secrets = rows.flatMap(({ results }) => results.flatMap((row) => Object.values(row)));
  expect(secrets.length).toBeGreaterThanOrEqual(2);
  for (const secret of [...secrets, "hf_the_secret", "whsec_", world.client.token])
    expect(text).not.toContain(String(secret));
});

test("of an account that has nothing is its profile", async () => {
  const { client } = await newUser();
  expect(linesIn(await textOf(client)).map(({ type }) => type)).toEqual(["export", "token", "end"]);
});

test("needs a token for the whole account that may read", async () => {
  const { client, username } = await newUser();
  const model = referenceOf(await newModel(client));
  const limited = await newClient(username, { models: [model] });
  const blind = await newClient(username, { scopes: ["predict"] });
  for (const one of [limited, blind])
    expect((await one.json("GET", "/v1/user/export")).status).toBe(403);
});

test("goes on without a prediction that cannot be read, and says so", async () => {
  const world = await newWorld();
  const ids = [await world.waiting(), await world.waiting()];
  captureLog("warn");
  const { get } = PredictionObject.prototype;
  vi.spyOn(PredictionObject.prototype, "get").mockImplementation(async function (
    this: PredictionObject,
  ) {
    const row = await this.getRow();
    if (row?.id === ids[1]) throw new Error("it is down");
    return get.call(this);
  });
  const lines = linesIn(await textOf(world.client));
  expect(ofType(lines, "failure")).toMatchObject([{ prediction_id: ids[1] }]);
  expect(ofType(lines, "prediction")).toMatchObject([{ prediction: { id: ids[0] } }]);
});

test("of many predictions comes in several responses, each where the last has ended", async () => {
  const world = await newWorld();
  const newest = await world.waiting();
  await inAccount(
    world.user_id,
    `WITH RECURSIVE n (value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 1099)
      INSERT INTO predictions (id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision)
      SELECT printf('01900000-0000-7000-8000-%012d', value), ?, '01900000-0000-7000-8000-000000000000', 'ada', 'm', 1, 0, 'canceled', 0, 0, 1, 1 FROM n`,
    env.PREDICTION.newUniqueId().toString(),
  );
  const first = linesIn(await textOf(world.client));
  const [end] = ofType(first, "end");
  const next = new URL(end?.next_url ?? expect.fail("it has no next"));
  const second = linesIn(await textOf(world.client, `${next.pathname}${next.search}`));
  expect(second.map(({ type }) => type)).not.toContain("token");
  expect(second.at(-1)).toEqual({ type: "end", next_url: null });
  const ids = [...first, ...second].flatMap((line) =>
    line.type === "prediction" ? line.prediction.id : [],
  );
  expect([ids.length, new Set(ids).size, ids[0]]).toEqual([1_101, 1_101, newest]);
});

test("nothing is made ahead of its reader, who may leave", async () => {
  const world = await newWorld();
  for (let n = 0; n < 5; n++) await world.waiting();
  const get = vi.spyOn(PredictionObject.prototype, "get");
  const response = await world.client.fetch("/v1/user/export");
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  expect(get.mock.calls.length).toBeLessThan(5);
});
