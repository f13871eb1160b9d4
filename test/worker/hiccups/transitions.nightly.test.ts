/** Durable Objects that are reset at each write of calls by callers, runners and operators. */
import { expect, test } from "vitest";
import { keepUp } from "../support/objects.ts";
import { atEachWrite, expectFailures, LONG } from "../support/one-at-a-time.ts";
import { methods, reached } from "../support/resets.ts";
import { TRANSITIONS } from "../support/transitions.ts";
import { newWorld } from "../support/world.ts";

/** Methods that only read or write memory alone, and those of another test. */
const NOT_HERE = [
  ...["getUpTo", "history", "standing", "lastRun", "originalRequest", "getRow", "input"].map(
    (name) => `PredictionObject.${name}`,
  ),
  "PredictionObject.mayReadFile",
  "PredictionObject.webhookBody",
  // No caller waits for this method, and a lost report follows with the next change.
  "AccountObject.recordDeliveries",
  "AccountObject.listDeliveries",
  ...["find", "list", "unfinished", "usage", "usagePage", "copy", "isEmpty", "fileBytes"].map(
    (name) => `AccountObject.${name}`,
  ),
  "AccountObject.declareUpload",
  // A file that stays counted is counted until the data of its prediction is removed.
  "AccountObject.removeFile",
  "PoolObject.explain",
  "PoolObject.runEstimate",
  "PoolObject.waitOf",
  ...["askForLog", "log", "takeLog"].map((name) => `PoolObject.${name}`),
  "PoolObject.holders",
  "PoolObject.runner",
  "PoolObject.offerSecond",
  "PoolObject.reportDismissed",
  "RunnerObject.history",
  // Callers do not wait for lines for operators.
  "RunnerObject.tellEvents",
  "RunnerObject.removeRun",
  // `webSocketError` does the same as `webSocketClose`.
  "PredictionObject.webSocketError",
  // `claim` begins with the same work as `keyHolder`.
  "AccountObject.keyHolder",
  // test/worker/backups/interruptions.nightly.test.ts
  "AccountObject.restore",
  // A charge that is lost or made twice lasts until the bucket has filled again, and rate limits are off here.
  "AccountObject.chargeWrites",
  "AccountObject.settleWrites",
  // The prediction dispatches the job through the queue if this fails, and the count of a runner's failures starts again.
  "PoolObject.startFailed",
];

expectFailures();

test.each(Object.entries(TRANSITIONS))(
  "the transition %s takes effect although objects are reset at each write",
  LONG,
  async (_, begin) => {
    const writes = await atEachWrite({
      async prepare() {
        const world = await newWorld();
        return { world, ...(await begin(world)) };
      },
      act: ({ act }) => act(),
      repeat: async ({ world, repeat }) => {
        await repeat?.();
        await keepUp(world.user_id);
      },
      check: ({ check }) => check(),
    });
    expect(writes).not.toEqual([]);
  },
);

test("the rows reach every method that writes", () => {
  expect(methods.filter((one) => !reached.has(one) && !NOT_HERE.includes(one))).toEqual([]);
  expect(methods).toEqual(expect.arrayContaining(NOT_HERE));
});
