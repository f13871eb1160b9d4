/** Checks of a prediction's end that hold after any failure. */
import { expect } from "vitest";
import {
  type PredictionWithIO,
  predictionWithIO,
  type TaskStatus,
} from "../../../src/protocol/prediction.ts";
import { listed } from "./listed.ts";
import type { Event, Watch } from "./watch.ts";
import type { World } from "./world.ts";

const TERMINAL: unknown[] = ["succeeded", "failed", "canceled"];

/** Waits for the end of a prediction and checks all of its public state. */
export async function endOf(
  world: World,
  watch: Watch,
  status: TaskStatus,
): Promise<PredictionWithIO> {
  await watch.ended;
  const full = await world.client.call(predictionWithIO, "GET", `/predictions/${watch.id}`);
  expect(full, full.error?.message).toMatchObject({ status, data_removed: false });
  expect(full.error === null).toBe(status !== "failed");
  checkLog(watch.events, full, world.kills);
  await checkReplays(world, watch);
  world.ended.push(full);
  return full;
}

/** Checks the log: IDs from 1, one terminal status, `done` last. */
function checkLog(events: Event[], full: PredictionWithIO, kills: number): void {
  expect(events[0]?.id).toBe(1);
  const steps = events.slice(1).map(({ id }, n) => id - (events[n]?.id ?? 0));
  expect(steps.filter((step) => step < 1)).toEqual([]);
  // An object that was restarted gives its next own event an ID beyond all that it may have shown.
  expect(steps.filter((step) => step > 1).length).toBeLessThanOrEqual(kills);
  const of = (name: string) => events.filter(({ event }) => event === name);
  const statuses = of("status").map(({ data }) => statusIn(data));
  expect(statuses[0]).toBe("pending");
  expect(statuses.filter((one) => TERMINAL.includes(one))).toEqual([full.status]);
  expect(statuses.at(-1)).toBe(full.status);
  expect(of("done")).toEqual([events.at(-1)]);
  expect(events.at(-1)?.data).toEqual(listed(full));
  expect(of("error").map(({ data }) => data)).toEqual(full.error ? [full.error] : []);
}

/** Checks that a second reader gets the same events, and that a reader that has all gets a 204. */
async function checkReplays(world: World, watch: Watch): Promise<void> {
  const replay = world.watch(watch.id);
  await replay.ended;
  expect(replay.events).toEqual(watch.events);
  const middle = Math.floor(watch.events.length / 2);
  const [half, last] = [watch.events[middle - 1], watch.events.at(-1)];
  const path = `/predictions/${watch.id}/stream`;
  const rest: Event[] = [];
  const headers = { "last-event-id": String(half?.id ?? 0) };
  for await (const event of world.client.events("GET", path, { headers })) rest.push(event);
  expect(rest).toEqual(watch.events.slice(middle));
  const after = await world.client.fetch("GET", `${path}?after_id=${last?.id}`);
  expect(after.status).toBe(204);
}

const statusIn = (data: unknown) =>
  typeof data === "object" && data !== null && "status" in data ? data.status : undefined;
