/** Webhooks of a prediction whose object dies between showing and storing: ids stay unique. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, describe, expect, test } from "vitest";
import { exchanged } from "../support/receiver.ts";
import { passes, startClock, withoutTimers } from "../support/time.ts";
import { output } from "../support/unstored.ts";
import {
  eventsOf,
  expectAsStreamed,
  payloadOf,
  READY,
  settled,
  type Watched,
  watched,
} from "../support/webhooks.ts";

afterEach(startClock);

/** Interrupts a prediction: `a` was stored, `b` was shown and posted, and `c` was only shown. */
const interrupted = () =>
  withoutTimers(async () => {
    const one = await watched({ events: ["started", "output", "completed"] });
    await one.channel.report([READY, output("a")]);
    await exchanged(one.path, 2);
    one.channel.push([output("b")]);
    await passes(0.5, one.id);
    await exchanged(one.path, 3);
    one.channel.push([output("c")]);
    await one.client.get(one.id);
    await abortAllDurableObjects();
    return one;
  });

async function expectTold({ client, id, path }: Watched, ...rest: unknown[]) {
  await settled(client, id, ...Array<string>(3 + rest.length).fill("delivered"));
  const all = (await exchanged(path, 3 + rest.length)).map(payloadOf);
  expect(eventsOf(all)).toEqual([
    ["started", "started", null],
    ["output", "started", ["a"]],
    ["output", "started", ["a", "b"]],
    ...rest,
  ]);
  expect(new Set(all.map(({ webhook }) => webhook.id)).size).toBe(all.length);
  await expectAsStreamed(client, id, path);
}

describe("an object that dies between showing and storing", () => {
  test("webhooks have all output when the runner comes back", async () => {
    const one = await interrupted();
    const channel = await one.runner.connect(one.job);
    expect(channel.welcomed).toBe(2);
    await channel.output("c");
    await passes(0.5, one.id);
    await settled(one.client, one.id, ...Array<string>(4).fill("delivered"));
    await channel.succeed("d");
    await expectTold(
      one,
      ["output", "started", ["a", "b", "c"]],
      ["completed", "succeeded", ["a", "b", "c", "d"]],
    );
  });

  test("webhooks end with a failure when the runner is dead", async () => {
    const one = await interrupted();
    await passes(31, one.id);
    await passes(11, one.id);
    await expectTold(one, ["completed", "failed", ["a", "b"]]);
  });
});
