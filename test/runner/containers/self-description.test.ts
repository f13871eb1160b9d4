/** Descriptions that a container's server gives of itself: which runs get them, and which wait for them. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import { type World, world } from "../support/fake-containers.ts";

const TOLD = { info: "{}" };
const asks = { describe: true };

let w: World;
/** One entry for each time that a server is asked. */
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

/** Returns a run that ends at once. */
async function ended(options: { describe: boolean }) {
  const count = w.runs.length;
  const { finish } = w.run("a", options);
  await w.running(count + 1);
  w.runs[count]?.end();
  return { finish };
}

it("a description is returned to each run that asked for it, however the run ends", async () => {
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

it("a description holds up no run once a server has not answered in time", async () => {
  const first = await ended(asks);
  answers[0]?.();
  expect(await first.finish).not.toHaveProperty("description");
  for (const _ of [2, 3]) {
    const { finish } = await ended(asks);
    expect(await finish).not.toHaveProperty("description");
  }
  // The second run asks again, and the third run shares that question.
  expect(answers).toHaveLength(2);
});

it("a description of a slow server is returned to a later run", async () => {
  const first = await ended(asks);
  answers[0]?.();
  await first.finish;
  const second = w.run("a", asks);
  await w.running(2);
  answers[1]?.(TOLD);
  w.runs[1]?.end();
  expect(await second.finish).toMatchObject({ description: TOLD });
});

it("a description is asked for once in a container", async () => {
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
