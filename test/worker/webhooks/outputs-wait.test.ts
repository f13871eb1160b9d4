/** Outputs that wait, for a receiver with `retry-after` or a redelivery, and the outputs after them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { goOn, putOff, range } from "../support/outputs.ts";
import { received } from "../support/receiver.ts";
import { passes, startClock, stopClock } from "../support/time.ts";
import { payloadOf, settled } from "../support/webhooks.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("a receiver of outputs that asks for time", () => {
  test("a receiver that asks for time gets all outputs of that time afterwards", async () => {
    const one = await putOff();
    await goOn(one, 3);
    await one.channel.report([{ event: "logs", data: "still there\n" }]);
    await passes(25, one.id);
    const before = Array<string>(3).fill("superseded");
    await settled(one.client, one.id, ...before, "delivered");
    const [, second] = (await received(one.path, 2)).map(payloadOf);
    expect([second?.status, second?.output]).toEqual(["started", range(0, 3)]);
  });
});
