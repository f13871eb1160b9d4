/** Output in the bodies of webhooks, over frames, retries and redeliveries. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Entries } from "../../../src/objects/prediction/log-events.ts";
import type { WebhookEvent } from "../../../src/protocol/webhook.ts";
import { storeValue } from "../support/files.ts";
import { objectOf } from "../support/objects.ts";
import { exchanged, script } from "../support/receiver.ts";
import { passes, startClock, stopClock, withoutTimers } from "../support/time.ts";
import {
  expectAsStreamed,
  payloadOf,
  READY,
  redeliver,
  settled,
  told,
  type Watched,
  watched,
} from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const delivered = (count: number) => Array<string>(count).fill("delivered");

/** Waits until the ledger has `events` events, all delivered. */
async function tell({ client, id }: Pick<Watched, "client" | "id">, events: number) {
  await passes(0.5, id);
  return settled(client, id, ...delivered(events));
}

/** Has one of `events` events redelivered. */
async function again({ client, id }: Watched, event: WebhookEvent | undefined, events: number) {
  await redeliver(client, id, event?.id);
  await passes(0, id);
  return settled(client, id, ...delivered(events));
}

const log = (data: string) => ({ event: "logs", data }) as const;
const output = (data: string) => ({ event: "output", data }) as const;

/** Returns a function that counts the rows of the log that were read since this call. */
function countRows(): () => number {
  const { frames } = Entries.prototype;
  let rows = 0;
  vi.spyOn(Entries.prototype, "frames").mockImplementation(function* (this: Entries, eventId) {
    for (const frame of frames.call(this, eventId)) {
      rows += 1;
      yield frame;
    }
  });
  return () => rows;
}

describe("the body of a webhook", () => {
  test("a body has output of many frames, with logs in between and values in R2", async () => {
    const one = await watched({ events: ["output", "completed"] });
    const { client, path, id, runner, job, channel } = one;
    for (let round = 1; round <= 3; round++) {
      channel.push([log("a line"), output(`${round}a`), log("more"), output(`${round}b`)]);
      if (round % 3 === 0) channel.push([await storeValue(runner, job, `stored ${round}`)]);
      channel.push([log("and nothing else")]);
      await channel.output(`${round}c`);
      await tell(one, round);
    }
    await channel.succeed("the last");
    await tell(one, 4);
    expect(await told(path, 4)).toHaveLength(4);
    await expectAsStreamed(client, id, path);
    expect((await client.get(id)).output).toHaveLength(11);
  });

  test("a body is made by reading only the new rows of the log", async () => {
    const one = await watched({ events: ["output"] });
    const { channel } = one;
    await channel.outputEach(Array<string>(30).fill("word"));
    await tell(one, 1);
    const rows = countRows();
    for (let round = 2; round <= 4; round++) {
      await channel.outputEach(["word", "word"]);
      await tell(one, round);
    }
    expect(rows()).toBeGreaterThan(0);
    expect(rows()).toBeLessThanOrEqual(6);
  });

  test("a body is the same in a retry, and the next one has the new output", async () => {
    const one = await watched({ events: ["output"] });
    const { client, path, id, channel } = one;
    await script(path, { status: 200 }, { status: 500 }, { status: 200 });
    await channel.output("a");
    await tell(one, 1);
    await channel.output("b", "c");
    await passes(0.5, id);
    await settled(client, id, "delivered", "pending");
    await passes(6, id);
    await settled(client, id, ...delivered(2));
    await channel.output("d");
    await tell(one, 3);
    await channel.succeed();
    expect((await exchanged(path, 4)).map(payloadOf).map((one) => one.output)).toEqual([
      ["a"],
      ["a", "b", "c"],
      ["a", "b", "c"],
      ["a", "b", "c", "d"],
    ]);
    await expectAsStreamed(client, id, path);
  });

  test("a body is the same in a redelivery, during the run and after it", async () => {
    const one = await watched({ events: ["output", "completed"] });
    const { client, path, id, channel } = one;
    await channel.output("a");
    const [first] = await tell(one, 1);
    await channel.output("b");
    const [, second] = await tell(one, 2);
    await again(one, first, 2);
    await channel.output("c");
    await tell(one, 3);
    await again(one, second, 3);
    await channel.succeed("d");
    await tell(one, 4);
    await again(one, first, 4);
    await again(one, second, 4);
    const bodies = (await exchanged(path, 8)).map(({ body }) => body);
    expect([bodies.length, new Set(bodies).size]).toEqual([8, 4]);
    await expectAsStreamed(client, id, path);
  });

  test("a body has all output after the object was evicted in between", async () => {
    const one = await withoutTimers(async () => {
      const found = await watched({ events: ["output", "completed"] });
      await found.channel.report([READY]);
      return found;
    });
    const { client, path, id, channel } = one;
    await channel.output("a", "b");
    await tell(one, 1);
    await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
    await channel.output("c");
    const [first] = await tell(one, 2);
    await evictDurableObject(await objectOf(id), { webSockets: "hibernate" });
    await again(one, first, 2);
    await channel.succeed("d");
    await tell(one, 3);
    expect((await exchanged(path, 4)).map(payloadOf).map((one) => one.output)).toEqual([
      ["a", "b"],
      ["a", "b", "c"],
      ["a", "b"],
      ["a", "b", "c", "d"],
    ]);
    await expectAsStreamed(client, id, path);
  });
});

describe("an output of several values", () => {
  /** Returns the final body of a run with values of these numbers of characters. */
  async function ended(...sizes: number[]) {
    const { client, path, id, channel } = await watched({ events: ["completed"] });
    for (const size of sizes) await channel.output("v".repeat(size));
    await channel.report([], { status: "succeeded", output: "value" });
    await settled(client, id, "delivered");
    return (await told(path, 1))[0];
  }

  test("the last value is the output, and is posted however large the others were", async () => {
    expect(await ended(500_000, 500_000, 400_000)).toMatchObject({
      output: "v".repeat(400_000),
      data_omitted: false,
    });
  });
});
