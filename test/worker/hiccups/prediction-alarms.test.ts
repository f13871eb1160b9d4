/** The alarm of a prediction at each of its deadlines, while each call of the platform fails in turn. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { captureLog } from "../support/log.ts";
import { keepUp, objectOf, tablesOf } from "../support/objects.ts";
import { atEachCall, goesOff } from "../support/one-at-a-time.ts";
import { ALARMS, OPTIONS } from "../support/prediction-alarms.ts";
import { startClock, stopClock } from "../support/time.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld } from "../support/world.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
  captureLog("error");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

test.each(Object.entries(ALARMS))("%s", async (_, { make, check }) => {
  const world = await newWorld(OPTIONS);
  const calls = await atEachCall({
    async prepare() {
      const due = await make(world);
      return { due, object: await objectOf(due.id) };
    },
    act: ({ object }) => goesOff(object),
    async repeat({ object }) {
      await goesOff(object);
      await keepUp(world.user_id);
    },
    async check({ due, object }) {
      if ((await alarmOf(object)) === null) expect(await tablesOf(object)).toEqual([]);
      await check(world, due);
    },
  });
  expect(calls).not.toEqual([]);
});
