/** Outputs that wait, for a receiver with `retry-after` or a redelivery, and the outputs after them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { exchanged, received, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import {
  expectNoMoreThan,
  payloadOf,
  redeliver,
  settled,
  type Watched,
  watched,
} from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(startClock);

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => `${first + n}`);

describe("a receiver of outputs that asks for time", () => {
  /** Makes a receiver that has asked for 100 s. */
  async function put() {
    const one = await watched({ events: ["output", "completed"] });
    const wait = { status: 429, headers: { "retry-after": "100" } };
    await script(one.path, wait, { status: 200 });
    await one.channel.output("0");
    await settled(one.client, one.id, "pending");
    return one;
  }

  /** Adds output in rounds of 25 s, because a runner that is silent for 30 s is lost. */
  async function goOn({ client, path, id, channel }: Watched, rounds: number) {
    for (let round = 1; round <= rounds; round++) {
      await channel.output(`${round}`);
      await passes(25, id);
      const before = Array<string>(round).fill("superseded");
      await settled(client, id, ...before, "planned");
      await expectNoMoreThan(path, 1);
    }
  }

  test("a receiver that asks for time gets all outputs of that time afterwards", async () => {
    const one = await put();
    await goOn(one, 3);
    await one.channel.report([{ event: "logs", data: "still there\n" }]);
    await passes(25, one.id);
    const before = Array<string>(3).fill("superseded");
    await settled(one.client, one.id, ...before, "delivered");
    const [, second] = (await received(one.path, 2)).map(payloadOf);
    expect([second?.status, second?.output]).toEqual(["started", range(0, 3)]);
  });

  test("a receiver that asks for time gets the end at once", async () => {
    const one = await put();
    await goOn(one, 3);
    await one.channel.succeed("4");
    await passes(0, one.id);
    await settled(one.client, one.id, ...Array<string>(4).fill("superseded"), "delivered");
    const [, second] = (await received(one.path, 2)).map(payloadOf);
    expect([second?.webhook.event, second?.output]).toEqual(["completed", range(0, 4)]);
  });
});

test("a redelivery of an output is delivered although there are later outputs", async () => {
  const { client, path, id, channel } = await watched({ events: ["output", "completed"] });
  await script(path, { status: 200 }, { status: 500 }, { status: 200 });
  await channel.output("a");
  const [first] = await settled(client, id, "delivered");
  await redeliver(client, id, first?.id);
  await passes(0, id);
  await settled(client, id, "pending");
  await channel.output("b");
  await passes(0.5, id);
  await settled(client, id, "pending", "delivered");
  await channel.succeed("c");
  await passes(0, id);
  await settled(client, id, "pending", "delivered", "delivered");
  await passes(6, id);
  await settled(client, id, "delivered", "delivered", "delivered");
  const last = (await exchanged(path, 5)).map(payloadOf).at(-1);
  expect([last?.webhook.id, last?.output]).toEqual([first?.id, ["a"]]);
});
