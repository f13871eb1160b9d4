/** Output in the bodies of webhooks, with events and attempts that come between. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { addressOf, exchanged, freshPath, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import {
  eventsOf,
  expectAsStreamed,
  payloadOf,
  READY,
  settled,
  told,
  type Watched,
  watched,
} from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

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

const log = (data: string) => ({ event: "logs", data }) as const;
const output = (data: string) => ({ event: "output", data }) as const;

describe("the body of a webhook", () => {
  test("a body has its output when a retry of an older event comes in between", async () => {
    const one = await watched({ events: ["started", "output"] });
    const { client, path, id, channel } = one;
    await script(path, { status: 503 }, { status: 200 });
    await channel.report([READY]);
    await settled(client, id, "pending");
    await channel.output("a");
    await settled(client, id, "pending", "delivered");
    await passes(6, id);
    await settled(client, id, ...delivered(2));
    await channel.output("b");
    await tell(one, 3);
    await channel.succeed();
    expect(eventsOf((await exchanged(path, 4)).map(payloadOf))).toEqual([
      ["started", "started", null],
      ["output", "started", ["a"]],
      ["started", "started", null],
      ["output", "started", ["a", "b"]],
    ]);
  });

  test("a body of the first event has no output, also if its frame has some", async () => {
    const one = await watched({ events: ["started", "output"] });
    const { client, path, id, channel } = one;
    await channel.output("a");
    await tell(one, 2);
    await channel.output("b");
    await tell(one, 3);
    await channel.succeed();
    expect((await told(path, 3)).map((one) => one.output)).toEqual([null, ["a"], ["a", "b"]]);
    await expectAsStreamed(client, id, path);
  });

  test("a body has the output of a second attempt if the first had none", async () => {
    const world = await newWorld();
    const { client, model } = world;
    const path = freshPath();
    const webhook = { url: addressOf(path), events: ["started", "output", "completed"] };
    const { id } = (await client.create({ model, input: {}, webhook })).body;
    const one = { client, id };
    const runner = await world.runner();
    const { channel: first } = await runner.work();
    await first.report([log("a line"), log("another")]);
    await settled(client, id, "delivered");
    first.send({ type: "release", reason: "shutting down" });
    const { channel } = await runner.work();
    await channel.output("a");
    await tell(one, 2);
    await channel.report([log("a line"), output("b")]);
    await tell(one, 3);
    await channel.succeed("c");
    await tell(one, 4);
    expect(eventsOf(await told(path, 4)).map(([, , output]) => output)).toEqual([
      null,
      ["a"],
      ["a", "b"],
      ["a", "b", "c"],
    ]);
    await expectAsStreamed(client, id, path);
  });
});
