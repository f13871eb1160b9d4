/** What a container's server tells of itself: who is told, and who waits for it. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { type World, world } from "../support/fake-containers.ts";

const TOLD = { info: "{}" };
const asks = { describe: true };

let w: World;
/** Of each time that a server is asked. */
let answers: ((told?: ServerDescription) => void)[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  answers = [];
  w = world(2, () => {
    const { promise, resolve } = Promise.withResolvers<ServerDescription | undefined>();
    answers.push(resolve);
    return promise;
  });
});
afterEach(() => w.close());

/** A run that ends at once. */
async function ended(options: { describe: boolean }) {
  const count = w.runs.length;
  const { finish } = w.run("a", options);
  await w.running(count + 1);
  w.runs[count]?.end();
  return { finish };
}

it("is told to whoever has asked, however the run ends", async () => {
  const asked = w.run("a", asks);
  const unasked = w.run("b");
  await w.running(2);
  w.runs[0]?.end({ finish: { status: "failed", output: "none" } });
  w.runs[1]?.end();
  expect(await unasked.finish).not.toHaveProperty("description");
  answers[0]?.(TOLD);
  expect(await asked.finish).toMatchObject({ status: "failed", description: TOLD });
  expect(answers).toHaveLength(1);
});

it("holds up the end of no run once a server was waited for and has not answered", async () => {
  const first = await ended(asks);
  answers[0]?.();
  expect(await first.finish).not.toHaveProperty("description");
  for (const _ of [2, 3]) {
    const { finish } = await ended(asks);
    expect(await finish).not.toHaveProperty("description");
  }
  // It is asked again by the second, and has that question when the third comes.
  expect(answers).toHaveLength(2);
});

it("is told by a later run of a server that was slow", async () => {
  const first = await ended(asks);
  answers[0]?.();
  await first.finish;
  const second = w.run("a", asks);
  await w.running(2);
  answers[1]?.(TOLD);
  w.runs[1]?.end();
  expect(await second.finish).toMatchObject({ description: TOLD });
});

it("is asked for once in a container", async () => {
  for (const _ of [1, 2]) {
    const { finish } = await ended(asks);
    answers[0]?.(TOLD);
    expect(await finish).toMatchObject({ description: TOLD });
  }
  expect(answers).toHaveLength(1);
  w.runs[0]?.container.exit("exited");
  await vi.waitFor(() => expect(w.pool.warm()).toEqual([]));
  const { finish } = await ended(asks);
  answers[1]?.(TOLD);
  expect(await finish).toMatchObject({ description: TOLD });
  expect(w.started).toHaveLength(2);
});
