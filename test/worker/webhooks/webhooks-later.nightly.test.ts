/** Webhooks without a secret, and those that are delivered late or not at all. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exchanged, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import {
  eventsOf,
  expectNoMoreThan,
  payloadOf,
  READY,
  settled,
  watched,
} from "../support/webhooks.ts";

const DAY = 86_400;

describe("a webhook", () => {
  test("a webhook without a secret is not signed", async () => {
    const { path, channel } = await watched();
    await channel.succeed();
    for (const { headers } of await exchanged(path, 2)) {
      expect(headers["webhook-id"]).toMatch(/^evt_/);
      expect(headers["webhook-timestamp"]).toMatch(/^\d{10}$/);
      expect(headers).not.toHaveProperty("webhook-signature");
      expect(headers).not.toHaveProperty("auspex-webhook-signature");
    }
  });
});

describe("outputs", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("outputs of a failed delivery are part of the next one", async () => {
    const { client, path, id, channel } = await watched({ events: ["output", "completed"] });
    await script(path, { status: 500 }, { status: 200 });
    await channel.output("a");
    await settled(client, id, "pending");
    await channel.succeed("b");
    await settled(client, id, "superseded", "delivered");
    expect(eventsOf((await exchanged(path, 2)).map(payloadOf))).toEqual([
      ["output", "started", ["a"]],
      ["completed", "succeeded", ["a", "b"]],
    ]);
  });
});

describe("a delivery that fails", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("a failed delivery waits for the receiver's retry-after", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await script(path, { status: 429, headers: { "retry-after": "600" } }, { status: 200 });
    await channel.succeed();
    await settled(client, id, "pending");
    await passes(599, id);
    await expectNoMoreThan(path, 1);
    await passes(2, id);
    await settled(client, id, "delivered");
  });

  test("a delivery that gets a 410 stops all others of the prediction", async () => {
    const { client, path, id, channel } = await watched();
    await script(path, { status: 410 });
    await channel.report([READY]);
    await settled(client, id, "failed");
    await channel.succeed();
    await passes(DAY, id);
    await settled(client, id, "failed", "failed");
    await expectNoMoreThan(path, 1);
  });
});

describe("an object that restarts", () => {
  beforeEach(stopClock);
  afterEach(startClock);

  test("an object that restarts goes on with pending deliveries", async () => {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    await script(path, { status: 500 }, { status: 200 });
    await channel.succeed("one");
    await settled(client, id, "pending");
    await abortAllDurableObjects();
    await passes(7, id);
    await settled(client, id, "delivered");
  });
});
