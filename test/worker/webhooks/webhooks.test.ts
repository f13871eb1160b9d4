/** Webhooks of predictions: their bodies, times, retries and restarts. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MIB, storeValue } from "../support/files.ts";
import { objectOf, tablesOf } from "../support/objects.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import {
  eventsOf,
  expectNoMoreThan,
  expectSigned,
  ledger,
  payloadOf,
  READY,
  settled,
  told,
  watched,
} from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

const SECRET = "a secret of the tests";

describe("a webhook", () => {
  test("a webhook is posted at the start and at the end of a prediction, with all of it", async () => {
    const { client, path, id, channel } = await watched({ secret: SECRET });
    await channel.report([READY]);
    await settled(client, id, "delivered");
    await channel.succeed("one", "two");
    const [started, completed] = await told(path, 2);
    expect(started).toMatchObject({
      status: "started",
      input: { a: 1 },
      output: null,
      data_removed: false,
      data_omitted: false,
      webhook: { event: "started", sequence: 2, id: `evt_${id}_2` },
    });
    const { webhook, data_omitted, ...prediction } = completed ?? {};
    expect(prediction).toEqual(await client.get(id));
    expect([webhook?.event, data_omitted]).toEqual(["completed", false]);
    for (const one of await received(path)) {
      expect(one.method).toBe("POST");
      expect(one.headers).toMatchObject({
        "content-type": "application/json",
        "webhook-id": payloadOf(one).webhook.id,
      });
      await expectSigned(one, SECRET);
    }
  });

  test("a webhook has the sequence of the event log, from which a stream can go on", async () => {
    const { client, path, id, channel } = await watched();
    await channel.succeed("one");
    const [started, completed] = await told(path, 2);
    const rest = await client.stream(id, `?after_id=${started?.webhook.sequence}`);
    expect((await rest.text()).match(/^event: \w+/gm)?.[0]).toBe("event: output");
    const end = await client.stream(id, `?after_id=${completed?.webhook.sequence}`);
    expect(end.status).toBe(204);
  });

  test("a webhook has only the events of its filter", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await channel.report([READY]);
    await channel.succeed("one");
    await settled(client, id, "delivered");
    expect(eventsOf(await told(path, 1))).toEqual([["completed", "succeeded", ["one"]]]);
  });

  test("a second attempt posts no second started", async () => {
    const world = await newWorld();
    const path = freshPath();
    const webhook = { url: addressOf(path) };
    const { body } = await world.client.create({ model: world.model, input: {}, webhook });
    const runner = await world.runner();
    const { channel: first } = await runner.work();
    await settled(world.client, body.id, "delivered");
    first.send({ type: "release", reason: "shutting down" });
    const { channel: second } = await runner.work();
    await second.succeed("two");
    expect(eventsOf(await told(path, 2))).toEqual([
      ["started", "started", null],
      ["completed", "succeeded", ["two"]],
    ]);
  });

  test("a prediction without a webhook has no tables for them", async () => {
    const { id } = await (await newWorld()).begun();
    expect(await tablesOf(await objectOf(id))).toEqual(["log", "request"]);
  });
});

describe("outputs", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("outputs are posted every 500 ms at most, and all of them at the end", async () => {
    const { client, path, id, channel } = await watched({ events: ["output"] });
    await channel.output("a");
    await settled(client, id, "delivered");
    await channel.output("b");
    await channel.output("c");
    await expectNoMoreThan(path, 1);
    await passes(0.5, id);
    await settled(client, id, "delivered", "delivered");
    await channel.succeed("d");
    expect(eventsOf(await told(path, 3))).toEqual([
      ["output", "started", ["a"]],
      ["output", "started", ["a", "b", "c"]],
      ["output", "succeeded", ["a", "b", "c", "d"]],
    ]);
  });
});

describe("large values", () => {
  test("values over 1 MiB are left out, and can be read from the prediction", async () => {
    const { client, path, id, job, runner, channel } = await watched({
      input: { text: "i".repeat(MIB + 1) },
      events: ["completed"],
    });
    await channel.report([await storeValue(runner, job, "v".repeat(2 * MIB))]);
    await channel.report([], { status: "succeeded", output: "value" });
    const [completed] = await told(path, 1);
    expect(completed).toMatchObject({ input: null, output: null, data_omitted: true });
    expect(completed?.data_removed).toBe(false);
    const whole = await client.fetch(new URL(completed?.url ?? "").pathname);
    expect(await whole.json()).toMatchObject({ id, output: "v".repeat(2 * MIB) });
  });
});

describe("a delivery that fails", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("a failed delivery is tried again with the same body and id until it arrives", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"], secret: SECRET });
    await script(path, { status: 503 }, "reset", { status: 302 }, { status: 204 });
    await channel.succeed("one");
    for (const [tries, seconds] of [
      [1, 6],
      [2, 36],
      [3, 144],
    ] as const) {
      await exchanged(path, tries);
      const [event] = await settled(client, id, "pending");
      const next = Date.parse(event?.deliveries[0]?.next_attempt_at ?? "") - Date.now();
      expect(next).toBeLessThanOrEqual(seconds * 1_000);
      expect(next).toBeGreaterThanOrEqual((seconds * 1_000) / 1.5);
      await passes(seconds, id);
    }
    const [event] = await settled(client, id, "delivered");
    expect(event?.deliveries[0]).toMatchObject({
      endpoint_id: null,
      url: addressOf(path),
      next_attempt_at: null,
      attempts: [
        { status: 503, error: "responded with status 503" },
        {
          status: null,
          error: expect.stringMatching(/connection refused or closed before a response/),
        },
        { status: 302, error: expect.stringMatching(/not followed/) },
        { status: 204, error: null },
      ],
    });
    const all = await received(path);
    expect(new Set(all.map(({ body }) => body)).size).toBe(1);
    const times = all.map(({ headers }) => Number(headers["webhook-timestamp"]));
    expect(new Set(times).size).toBe(4);
    for (const one of all) await expectSigned(one, SECRET);
  });

  test("a failed delivery ends after a day, and so does the object with its data", async () => {
    const { client, path, id, channel } = await watched({
      events: ["completed"],
      retention_seconds: 60,
    });
    await script(path, { status: 500 });
    await channel.succeed("one");
    for (let tries = 1; tries < 12; tries++) {
      const [event] = await settled(client, id, "pending");
      expect(event?.deliveries[0]?.attempts).toHaveLength(tries);
      const next = Date.parse(event?.deliveries[0]?.next_attempt_at ?? "");
      await passes((next - Date.now()) / 1_000, id);
      await exchanged(path, tries + 1);
    }
    const all = await received(path, 12);
    expect(payloadOf(all[0] ?? expect.fail())).toMatchObject({ output: ["one"] });
    // Retention has passed meanwhile. The body says that data was removed and left out.
    expect(payloadOf(all.at(-1) ?? expect.fail())).toMatchObject({
      status: "succeeded",
      input: null,
      output: null,
      data_removed: true,
      data_omitted: true,
    });
    expect((await client.get(id)).data_removed).toBe(true);
    await passes(1, id);
    expect(await tablesOf(await objectOf(id))).toEqual([]);
    expect(await ledger(client, id)).toEqual([]);
  });

  test("a delivery under way delays neither the prediction nor the answer to its caller", async () => {
    const world = await newWorld();
    const path = freshPath();
    await script(path, "silent");
    const body = { model: world.model, input: {}, webhook: { url: addressOf(path) } };
    const waiting = world.client.create(body, { prefer: "wait" });
    const { channel } = await (await world.runner()).work();
    await received(path, 1);
    await channel.succeed("one");
    const { body: ended } = await waiting;
    expect(ended).toMatchObject({ status: "succeeded", output: ["one"] });
    const states = (await ledger(world.client, ended.id)).map(({ deliveries }) => deliveries);
    expect(states).toMatchObject([[{ state: "pending", next_attempt_at: null }], [{}]]);
  });
});

describe("an object that restarts", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("an object that restarts during an attempt begins another one after 25 s", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await script(path, "silent", { status: 200 });
    await channel.succeed("one");
    await received(path, 1);
    await abortAllDurableObjects();
    const [lost] = await settled(client, id, "under way");
    expect(lost?.deliveries[0]?.attempts).toMatchObject([{ status: null, error: null }]);
    await passes(25, id);
    const [event] = await settled(client, id, "delivered");
    expect(event?.deliveries[0]?.attempts).toMatchObject([
      {
        status: null,
        error: expect.stringMatching(/service restarted before it received a response/),
      },
      { status: 200, error: null },
    ]);
    const [first, second] = await received(path, 2);
    expect(second?.body).toBe(first?.body);
  });
});
