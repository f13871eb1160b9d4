/** Redelivered outputs, and the end of a run whose receiver asks for time. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { goOn, putOff, range } from "../support/outputs.ts";
import { exchanged, received, script } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { payloadOf, redeliver, settled, watched } from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("a receiver of outputs that asks for time", () => {
  test("a receiver that asks for time gets the end at once", async () => {
    const one = await putOff();
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
