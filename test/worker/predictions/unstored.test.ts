/** Restarts of an object between showing and storing events, followed by another fault. */
import { afterEach, describe, expect, test } from "vitest";
import { passes, startClock } from "../support/time.ts";
import {
  expectStory,
  type Interrupted,
  interrupted,
  output,
  READERS,
} from "../support/unstored.ts";

afterEach(startClock);

const FRAMES = [[output("a")], [output("b")], [output("c")]];

/** Passes the grace of a restarted object, and then the lease. */
async function losesItsLease({ who, id }: Interrupted) {
  await passes(31, id);
  expect(await who.client.status(id)).toBe("started");
  await passes(11, id);
}

async function expectFenced({ runner, job }: Interrupted) {
  const channel = await runner.connect(job);
  expect(await channel.next()).toMatchObject({ type: "fenced" });
}

describe.each(READERS)("for a reader with %s", (_, ask) => {
  test("a runner that returns loses nothing", async () => {
    const one = await interrupted(ask, FRAMES);
    const reading = one.resume();
    await (await one.reconnect()).succeed("d");
    await reading;
    const { status, output } = await one.who.client.get(one.id);
    expect([status, output]).toEqual(["succeeded", ["a", "b", "c", "d"]]);
    await expectStory(one, []);
  });

  test("a runner that returns after a cancel loses nothing", async () => {
    const one = await interrupted(ask, FRAMES);
    const reading = one.resume();
    expect(await one.who.client.cancel(one.id)).toBe(202);
    const channel = await one.reconnect();
    expect(await channel.next()).toMatchObject({ type: "cancel" });
    await channel.report([], { status: "canceled", output: "items" });
    await reading;
    const { status, output } = await one.who.client.get(one.id);
    expect([status, output]).toEqual(["canceled", ["a", "b", "c"]]);
    await expectStory(one, []);
  });

  test("a prediction that is canceled ends although its runner is dead", async () => {
    const one = await interrupted(ask, FRAMES);
    const reading = one.resume();
    expect(await one.who.client.cancel(one.id)).toBe(202);
    await losesItsLease(one);
    await reading;
    expect(await one.who.client.status(one.id)).toBe("canceled");
    await expectStory(one, ["b", "c"]);
  });

  test("a runner that returns after the run's time is fenced", async () => {
    const one = await interrupted(ask, FRAMES, { timeout_seconds: 20 });
    const reading = one.resume();
    await passes(21, one.id);
    await reading;
    await expectFenced(one);
    const { status, output } = await one.who.client.get(one.id);
    expect([status, output]).toEqual(["failed", ["a"]]);
    await expectStory(one, ["b", "c"]);
  });

  test("a runner that returns after its lease is fenced", async () => {
    const one = await interrupted(ask, FRAMES);
    const reading = one.resume();
    await losesItsLease(one);
    await reading;
    await expectFenced(one);
    const { status, error } = await one.who.client.get(one.id);
    const message = "The runner was lost after output had started.";
    expect([status, error]).toEqual(["failed", expect.objectContaining({ message })]);
    await expectStory(one, ["b", "c"]);
  });
});
