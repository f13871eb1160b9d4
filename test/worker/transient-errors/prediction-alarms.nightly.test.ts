/** The alarm of a prediction object at each deadline, while each of its platform calls fails in turn. */
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { PredictionObject } from "../../../src/objects/prediction/object.ts";
import { objectOf, tablesOf } from "../support/objects.ts";
import {
  atEachCall,
  atEachWrite,
  expectFailures,
  goesOff,
  LONG,
} from "../support/one-at-a-time.ts";
import { ALARMS, type Due, OPTIONS, type Row } from "../support/prediction-alarms.ts";
import { alarmOf } from "../support/webhooks.ts";
import { newWorld, type World } from "../support/world.ts";

interface Made {
  world: World;
  due: Due;
  object: () => DurableObjectStub<PredictionObject>;
}

expectFailures();

const workOf = (shared: World, { make, check, needsWorld }: Row) => ({
  async prepare() {
    const world = needsWorld ? await newWorld(OPTIONS) : shared;
    const due = await make(world);
    const { id } = await objectOf(due.id);
    return { world, due, object: () => env.PREDICTION.get(id) };
  },
  act: ({ object }: Made) => goesOff(object),
  // The account object's alarm is not run, because its checks of overdue rows would hide failures.
  repeat: ({ object }: Made) => goesOff(object),
  async check({ world, due, object }: Made) {
    if ((await alarmOf(object())) === null) expect(await tablesOf(object())).toEqual([]);
    await check(world, due);
  },
});

test.each(Object.entries(ALARMS))(
  "the deadline %s is met although each of its calls fails in turn",
  LONG,
  async (_, row) => {
    expect(await atEachCall(workOf(await newWorld(OPTIONS), row))).not.toEqual([]);
  },
);

test.each(Object.entries(ALARMS))(
  "the deadline %s is met although objects are reset at each write",
  LONG,
  async (_, row) => {
    expect(await atEachWrite(workOf(await newWorld(OPTIONS), row))).not.toEqual([]);
  },
);
