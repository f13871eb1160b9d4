/** An export of more predictions than one response has. */
import { afterEach, expect, test, vi } from "vitest";
import { addRows, EXPORT, exported, idsIn, linesIn, ofType } from "../support/export.ts";
import { startClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

test("many predictions are exported in several responses, linked by next_url", async () => {
  const world = await newWorld();
  const newest = await world.waiting();
  await addRows(world, 2_100);
  const first = await exported(world.client);
  const [end] = ofType(linesIn(first), "end");
  const next = new URL(end?.next_url ?? expect.fail("it has no next"));
  expect(next.pathname).toBe(EXPORT);
  const second = await exported(world.client, `${next.pathname}${next.search}`);
  const rest = linesIn(second);
  expect(new Set(rest.map(({ type }) => type))).toEqual(new Set(["prediction", "end"]));
  expect(rest.at(-1)).toMatchObject({ type: "end", next_url: null });
  const ids = [...idsIn(first), ...idsIn(second)];
  expect([ids.length, new Set(ids).size, ids[0]]).toEqual([2_101, 2_101, newest]);
});
