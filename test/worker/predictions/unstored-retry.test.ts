/** Restarts of an object with an attempt that had no output yet: another attempt follows. */
import { abortAllDurableObjects } from "cloudflare:test";
import { afterEach, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { EventReader } from "../support/events.ts";
import { passes, startClock, withoutTimers } from "../support/time.ts";
import { afterId, expectStory, interrupted, output } from "../support/unstored.ts";

afterEach(startClock);

const STARTING: ReportedEvent = { event: "setup", data: { phase: "starting" } };
const log = (data: string): ReportedEvent => ({ event: "logs", data });

test("event IDs that were lost with the object are not used again, also if it dies once more", async () => {
  const one = await interrupted(afterId, [[STARTING], [log("first")], [log("second")]]);
  const { who, id, runner, seen } = one;
  await passes(31, id);
  await passes(11, id);
  const job = await runner.take();
  expect(job).toMatchObject({ prediction_id: id, attempt: one.job.attempt + 1 });
  const after = seen.at(-1)?.id ?? 0;
  await withoutTimers(async () => {
    const reader = new EventReader((await afterId(who, id, after)).body);
    const channel = await runner.connect(job);
    await channel.output("a");
    channel.push([output("b")]);
    seen.push(...(await reader.take(4)));
    await abortAllDurableObjects();
  });
  const reading = one.resume();
  const again = await runner.connect(job);
  expect(again.welcomed).toBe(1);
  await again.output("b");
  await again.succeed("c");
  await reading;
  expect((await who.client.get(id)).output).toEqual(["a", "b", "c"]);
  await expectStory(one, ["first", "second"]);
});
