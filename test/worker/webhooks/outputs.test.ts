/** Output in the bodies of webhooks, over frames, retries and redeliveries. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Entries } from "../../../src/objects/prediction/log-events.ts";
import { objectOf } from "../support/objects.ts";
import { again, tell } from "../support/outputs.ts";
import { exchanged } from "../support/receiver.ts";
import { startClock, stopClock, withoutTimers } from "../support/time.ts";
import { expectAsStreamed, payloadOf, READY, settled, told, watched } from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

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
