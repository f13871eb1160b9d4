/** Pools of several hardware classes, and the runners that serve them. */

import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import type { QueueState } from "../../../src/protocol/fleet.ts";
import type { Hardware } from "../../../src/protocol/hardware.ts";
import { findMadePools } from "../../../src/services/runners/pools.ts";
import { database } from "../../../src/storage/database.ts";
import { runnerIsThere } from "../../../src/storage/runners/runners.ts";
import { services } from "../support/accounts.ts";
import { newModel, pageAt, publish, referenceOf } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { shown } from "../support/fleet.ts";
import { FakeRunner, sessionBody } from "../support/runner.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

type Put = Hardware & { detail?: string };

const put = (identifier: string, body: object = {}) =>
  operator.json<Put>("PUT", `/v1/operator/hardware/${identifier}`, { name: "Box", ...body });

/** Makes a class of one GPU and one of four, which share a pool. */
async function pair() {
  const single = unique("l40s");
  const wide = `${single}-x4`;
  await put(single, { gpus: 1 });
  await put(wide, { gpus: 4, pool: single });
  return { single, wide };
}

async function tokenFor(...hardware: string[]): Promise<string> {
  const body = { name: "rack", hardware };
  return (await operator.ok<{ token: string }>("POST", "/v1/operator/runner_tokens", body)).token;
}

async function beginOf(hardware: string[], slots = 1) {
  return FakeRunner.begin(await tokenFor(...hardware), hardware, unique("box"), slots);
}

/** Creates a prediction of a model of this class. Returns its ID. */
async function waitingFor(client: Client, hardware: string): Promise<string> {
  const model = referenceOf(await newModel(client));
  await publish(client, model, { configuration: { hardware_identifier: hardware } });
  const { body } = await client.create({ model, input: {} });
  return body.id;
}

const inLine = (pool: string, waiting: number) =>
  eventually(async () =>
    expect(await env.POOL.getByName(pool).status()).toMatchObject({ waiting }),
  );

const use = async (hardware: string) => waitingFor((await newUser()).client, hardware);

describe("a class", () => {
  test("a class has its own pool, or that of another class", async () => {
    const { single, wide } = await pair();
    expect((await put(single)).body.pool).toBe(single);
    expect((await put(wide)).body.pool).toBe(single);
    expect((await put(unique("hw"), { pool: "No slug" })).status).toBe(422);
  });

  test("a class can change its pool until it is used", async () => {
    const { single, wide } = await pair();
    expect((await put(wide, { pool: wide })).body.pool).toBe(wide);
    await use(wide);
    await eventually(async () => {
      const { status, body } = await put(wide, { pool: single });
      expect([status, body.detail]).toEqual([
        409,
        `'${wide}' is in the pool '${wide}', which is already in use. Keep its pool, or create another class with the pool '${single}'.`,
      ]);
    });
    expect((await put(wide, { pool: wide })).status).toBe(200);
  });

  test("a class takes the location of the pool that it joins, and can name no other", async () => {
    const [first, second] = [unique("hw"), unique("hw")];
    await put(first, { location_hint: "weur" });
    const refused = await put(second, { pool: first, location_hint: "apac" });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain(`The pool '${first}' already has a queue`);
    expect((await put(second, { pool: first })).body.location_hint).toBe("weur");
    await operator.ok("DELETE", `/v1/operator/hardware/${first}`);
    expect((await put(unique("hw"), { pool: first })).body.location_hint).toBe("weur");
  });

  test("a class's name can be the name only of its own pool", async () => {
    const { single, wide } = await pair();
    const joins = await put(unique("hw"), { pool: wide });
    expect([joins.status, joins.body.detail]).toEqual([
      409,
      `'${wide}' is a class in the pool '${single}', so no other pool can have that name. Use '${single}', or another name.`,
    ]);
    const name = unique("rack");
    await put(unique("hw"), { pool: name });
    expect((await put(name, { pool: single })).body.detail).toContain(
      `so the class '${name}' cannot be in '${single}'`,
    );
    expect((await put(name)).body.pool).toBe(name);
  });
});

describe("a session", () => {
  test("a session takes classes of one pool only", async () => {
    const { single, wide } = await pair();
    const other = unique("hw");
    await put(other);
    const begin = async (hardware: string[]) =>
      new Client(await tokenFor(single, wide, other)).json<{ pool: string; detail?: string }>(
        "POST",
        "/v1/runner/sessions",
        sessionBody(hardware, unique("box")),
      );
    expect(await begin([single, wide])).toMatchObject({ status: 200, body: { pool: single } });
    const { status, body } = await begin([other, wide]);
    expect(status).toBe(409);
    for (const said of [`'${wide}' in '${single}'`, `'${other}' in '${other}'`, "put them in one"])
      expect(body.detail).toContain(said);
  });

  test("a session takes only existing classes that its token covers", async () => {
    const { single, wide } = await pair();
    const client = new Client(await tokenFor(single));
    const begin = (...hardware: string[]) =>
      client.refused("/v1/runner/sessions", sessionBody(hardware, "x"));
    expect((await begin(single, wide)).status).toBe(403);
    expect((await begin()).status).toBe(422);
    expect((await begin(...Array.from({ length: 17 }, () => single))).status).toBe(422);
    await operator.ok("DELETE", `/v1/operator/hardware/${single}`);
    expect((await begin(single)).status).toBe(404);
  });
});

test("a runner of two classes gets jobs of both, each with its class", async () => {
  const { single, wide } = await pair();
  const { client } = await newUser();
  const ids = [await waitingFor(client, wide), await waitingFor(client, single)];
  await inLine(single, 2);
  const runner = await beginOf([single, wide], 2);
  const jobs = [await runner.take(), await runner.take()];
  expect(jobs.map(({ prediction_id }) => prediction_id).toSorted()).toEqual(ids.toSorted());
  expect(jobs.map(({ hardware }) => hardware)).toEqual(
    expect.arrayContaining([
      { identifier: single, gpus: 1 },
      { identifier: wide, gpus: 4 },
    ]),
  );
  expect(await shown(runner.id)).toMatchObject({ hardware: [single, wide], pool: single });
  const isThere = (hardware: string) => runnerIsThere(database(env.DB), hardware);
  expect([await isThere(wide), await isThere(`${single}-x`)]).toEqual([true, false]);
});

test("a runner of one class of a pool leaves jobs of the other class in line", async () => {
  const { single, wide } = await pair();
  const { client } = await newUser();
  const waits = await waitingFor(client, wide);
  await inLine(single, 1);
  const narrow = await beginOf([single]);
  const polling = narrow.take();
  const runs = await waitingFor(client, single);
  expect((await polling).prediction_id).toBe(runs);
  const queues = await pageAt<QueueState>(operator, "/v1/operator/queues?page_size=50");
  const queueOf = (hardware: string) => queues.items.find((one) => one.hardware === hardware);
  expect(queueOf(wide)).toMatchObject({ pool: single, waiting: 1 });
  expect(queueOf(single)).toMatchObject({ pool: single, waiting: 0 });
  expect((await (await beginOf([wide])).take()).prediction_id).toBe(waits);
});

test("a model that moves to another class of the pool after a deletion still gets its runner", async () => {
  const { single, wide } = await pair();
  const { client } = await newUser();
  const model = referenceOf(await newModel(client, { hardware_identifier: wide }));
  await publish(client, model);
  const runner = await beginOf([single, wide], 2);
  await client.ok("PATCH", `/v1/models/${model}`, { hardware_identifier: null });
  await operator.ok("DELETE", `/v1/operator/hardware/${wide}`);
  await client.ok("PATCH", `/v1/models/${model}`, { hardware_identifier: single });
  const { body } = await client.create({ model, input: {} });
  const job = await runner.take();
  expect([job.prediction_id, job.hardware]).toEqual([body.id, { identifier: single, gpus: 1 }]);
});

test("a prediction of a deleted class waits in a pool of its name", async () => {
  const { client } = await newUser();
  const gone = unique("gone");
  const model = referenceOf(await newModel(client));
  await env.DB.prepare("UPDATE models SET hardware_identifier = ? WHERE name = ?")
    .bind(gone, model.split("/")[1])
    .run();
  await publish(client, model);
  await client.create({ model, input: {} });
  await eventually(async () =>
    expect(await env.POOL.getByName(gone).status(gone)).toMatchObject({ waiting: 1 }),
  );
});

test("pools are found by more names than D1 takes parameters", async () => {
  const world = await newWorld();
  await (await world.runner()).tellState({ jobs: [] });
  const names = Array.from({ length: 150 }, () => unique("pool"));
  const found = await findMadePools(services, [...names, world.hardware]);
  expect(found.map(({ name }) => name)).toEqual([world.hardware]);
});
