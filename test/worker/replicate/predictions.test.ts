/** /replicate/v1/predictions: the requests of Replicate's Python clients, and who may read what. */
import { expect, test } from "vitest";
import {
  type ReplicatePrediction,
  replicatePage,
  replicatePrediction,
} from "../../../src/protocol/replicate.ts";
import { type Client, ORIGIN } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { addressOf, freshPath, received } from "../support/receiver.ts";
import { newWorld, type World } from "../support/world.ts";

const BASE = "/replicate/v1";
const PROMPT = {
  type: "object",
  properties: { prompt: { type: "string" } },
  required: ["prompt"],
};
const INPUT = { prompt: "The Queen" };

const worldOf = (visibility: "public" | "private" = "public") =>
  newWorld({ input: PROMPT, visibility });

/** Sends a body as the Python client does, whose base URL ends before `/v1`. */
const create = (client: Client, path: string, body: object, headers: Record<string, string> = {}) =>
  client.json<ReplicatePrediction>("POST", `${BASE}${path}`, body, headers);

async function read(client: Client, id: string): Promise<ReplicatePrediction> {
  return replicatePrediction.parse(await client.ok("GET", `${BASE}/predictions/${id}`));
}

/** Lets a runner run the next prediction. */
async function run({ runner }: World, ...values: string[]) {
  const { channel } = await (await runner()).work();
  await channel.report([{ event: "logs", data: "loading\n" }]);
  await channel.output(...values);
  return channel;
}

test("a prediction has Replicate's fields at its creation, while it runs and at its end", async () => {
  const world = await worldOf();
  const { client, model } = world;
  const { status, body, headers } = await create(client, `/models/${model}/predictions`, {
    input: INPUT,
  });
  const { id, version, urls } = replicatePrediction.parse(body);
  expect(status).toBe(201);
  expect(headers.get("location")).toBe(`${BASE}/predictions/${id}`);
  expect(body).toMatchObject({ model, input: INPUT, output: null, logs: "", error: null });
  expect(body).toMatchObject({ status: "starting", source: "api", started_at: null });
  expect(urls).toMatchObject({
    get: `${ORIGIN}${BASE}/predictions/${id}`,
    cancel: `${ORIGIN}${BASE}/predictions/${id}/cancel`,
    web: `${ORIGIN}/predictions/${id}`,
  });
  const channel = await run(world, "one", "two");
  expect(await read(client, id)).toMatchObject({
    status: "processing",
    output: ["one", "two"],
    logs: "loading\n",
    started_at: expect.any(String),
    completed_at: null,
  });
  await channel.succeed();
  expect(await read(client, id)).toMatchObject({
    version,
    status: "succeeded",
    output: ["one", "two"],
    metrics: { total_time: expect.any(Number) },
    completed_at: expect.any(String),
  });
  await eventually(async () => {
    const list = await client.ok("GET", `${BASE}/predictions`);
    const page = replicatePage(replicatePrediction).parse(list);
    expect(page).toMatchObject({ next: null, results: [{ id, version, status: "succeeded" }] });
  });
});

test("a version is named by its ID, with or without its model, and by its number with its model", async () => {
  const { client, model } = await worldOf("private");
  const first = await create(client, `/models/${model}/predictions`, { input: INPUT });
  const { version } = first.body;
  for (const named of [version, `${model}:${version}`, `${model}:1`, model]) {
    const { status, body } = await create(client, "/predictions", { version: named, input: INPUT });
    expect([named, status, body.version]).toEqual([named, 201, version]);
  }
  const alone = await client.refused(`${BASE}/predictions`, { version: "1", input: INPUT });
  expect(alone).toMatchObject({ status: 422, body: { title: "Input validation failed" } });
  expect(alone.body.detail).toMatch("A number alone does not name a model");
  const other = await client.refused(`${BASE}/predictions`, {
    version: `someone/else:${version}`,
    input: INPUT,
  });
  expect(other.status).toBe(404);
});

test("a private model's version, prediction and stream are a 404 to other accounts", async () => {
  const { client, model, stranger } = await worldOf("private");
  const { body } = await create(client, `/models/${model}/predictions`, { input: INPUT });
  const other = await stranger();
  for (const [path, sent] of [
    ["/predictions", { version: body.version, input: INPUT }],
    [`/models/${model}/predictions`, { input: INPUT }],
    [`/predictions/${body.id}/cancel`, {}],
  ] as const)
    expect([path, (await other.refused(BASE + path, sent)).status]).toEqual([path, 404]);
  expect((await other.fetch(`${BASE}/predictions/${body.id}`)).status).toBe(404);
  expect((await other.fetch(`${BASE}/streams/${body.id}`)).status).toBe(404);
});

test("an input that does not fit the schema is a 422 that names the field, and runs nothing", async () => {
  const { client, model } = await worldOf();
  const sent = { input: { prompt: 3 }, webhook: "no URL" };
  const webhook = await client.refused(`${BASE}/models/${model}/predictions`, sent);
  expect(webhook).toMatchObject({ status: 422, body: { status: 422 } });
  const { status, body } = await client.refused(`${BASE}/models/${model}/predictions`, {
    input: { prompt: 3 },
  });
  expect([status, body]).toEqual([
    422,
    expect.objectContaining({
      title: "Input validation failed",
      status: 422,
      detail: "- input.prompt: Input should be a valid string",
      invalid_fields: [
        {
          type: "string_type",
          field: "input.prompt",
          description: "Input should be a valid string",
        },
      ],
    }),
  ]);
  expect(await client.ok("GET", `${BASE}/predictions`)).toMatchObject({ results: [] });
});

test("a refused webhook or Idempotency-Key is named as the request has it", async () => {
  const { client, model } = await worldOf();
  const path = `/models/${model}/predictions`;
  const fieldsOf = async (body: object, headers: Record<string, string> = {}) => {
    const answer = await create(client, path, { input: INPUT, ...body }, headers);
    expect(answer.status).toBe(422);
    return JSON.parse(JSON.stringify(answer.body)).invalid_fields;
  };
  expect(await fieldsOf({ webhook: "https://10.0.0.1/" })).toMatchObject([{ field: "webhook" }]);
  expect(await fieldsOf({}, { "idempotency-key": "x".repeat(256) })).toMatchObject([
    { field: "idempotency-key" },
  ]);
});

test("a caller that has waited in vain is told `starting`, and the end otherwise", async () => {
  const world = await worldOf();
  const { client, model } = world;
  const path = `/models/${model}/predictions`;
  const waiting = create(client, path, { input: INPUT }, { prefer: "wait=1" });
  await run(world, "one");
  const { body, headers } = await waiting;
  expect([body.status, headers.get("preference-applied")]).toEqual(["starting", "wait=1"]);
  expect((await read(client, body.id)).status).toBe("processing");
});

test("a cancel answers with the prediction, also after its end", async () => {
  const { client, model } = await worldOf();
  const { body } = await create(client, `/models/${model}/predictions`, { input: INPUT });
  for (let n = 0; n < 2; n++)
    expect(await client.ok("POST", `${BASE}/predictions/${body.id}/cancel`)).toMatchObject({
      id: body.id,
      status: "canceled",
    });
});

test("the older scheme `Token` authenticates, and `/v1` may be there twice or not at all", async () => {
  const { client } = await worldOf();
  const headers = { authorization: `Token ${client.token}` };
  for (const path of ["/replicate/v1", "/replicate/v1/v1", "/replicate"])
    expect((await client.fetch(`${path}/predictions`, { headers })).status).toBe(200);
  expect((await client.fetch("/v1/predictions", { headers })).status).toBe(401);
  const missing = await client.json("GET", "/replicate/v1/nothing");
  expect(missing).toMatchObject({
    status: 404,
    body: { title: "Not found", detail: expect.stringMatching(`${ORIGIN}/replicate/v1`) },
  });
});

test("the stream's URL needs no token, has Replicate's events, and resumes after an event", async () => {
  const world = await worldOf();
  const { client, model } = world;
  const { body } = await create(client, `/models/${model}/predictions`, { input: INPUT });
  const channel = await run(world, "two\nlines", "more");
  await channel.report([], {
    status: "failed",
    output: "items",
    error: { source: "external", message: "out of memory" },
  });
  const url = body.urls.stream ?? "";
  const visitor = await (await worldOf()).stranger();
  const anonymous = { headers: { authorization: "" } };
  const response = await visitor.fetch(url, anonymous);
  expect(response.headers.get("content-type")).toMatch("text/event-stream");
  const text = await response.text();
  const events = text.split("\n\n").map((event) => event.replace(/id: \d+\n/, ""));
  expect(events).toEqual([
    "event: logs\ndata: loading\ndata: ",
    "event: output\ndata: two\ndata: lines",
    "event: output\ndata: more",
    'event: error\ndata: {"detail":"out of memory"}',
    'event: done\ndata: {"reason":"error"}',
    "",
  ]);
  const ids = [...text.matchAll(/id: (\d+)/g)].map(([, id]) => id ?? "");
  const rest = await visitor.fetch(url, {
    headers: { ...anonymous.headers, "last-event-id": ids[2] ?? "" },
  });
  expect((await rest.text()).match(/event: \w+/g)).toEqual(["event: error", "event: done"]);
  const over = await visitor.fetch(url, {
    headers: { ...anonymous.headers, "last-event-id": ids.at(-1) ?? "" },
  });
  expect(over.status).toBe(204);
  const changed = await visitor.fetch(url.replace(/signature=.{5}/, "signature=AAAAA"), anonymous);
  expect(changed.status).toBe(403);
});

test("a large prediction is read in pieces, with its logs", async () => {
  const world = await worldOf();
  const { client, model } = world;
  const { body } = await create(client, `/models/${model}/predictions`, { input: INPUT });
  const large = '"é\n'.repeat(50_000);
  const channel = await run(world, large);
  await channel.succeed();
  expect(await read(client, body.id)).toMatchObject({
    status: "succeeded",
    output: [large],
    logs: "loading\n",
    urls: { stream: expect.stringMatching(`/replicate/v1/streams/${body.id}`) },
  });
});

test("a webhook posts Replicate's prediction, for the events that were chosen", async () => {
  const world = await worldOf();
  const { client, model } = world;
  const path = freshPath();
  const { body } = await create(client, `/models/${model}/predictions`, {
    input: INPUT,
    webhook: addressOf(path),
    webhook_events_filter: ["start", "completed"],
  });
  expect(body).toMatchObject({ webhook: addressOf(path) });
  await (await run(world, "one")).succeed();
  const posted = (await received(path, 2)).map((one) =>
    replicatePrediction.parse(JSON.parse(one.body)),
  );
  expect(posted).toMatchObject([
    { id: body.id, status: "processing", input: INPUT },
    { id: body.id, status: "succeeded", output: ["one"], logs: "loading\n", version: body.version },
  ]);
});
