/** Histories that look like breaches and are none. */
import { expect, test } from "vitest";
import type { Event, History } from "../history.ts";
import {
  at,
  brokenIn,
  calmHistory,
  edit,
  GREETING,
  LISTS,
  objectOf,
  READERS,
  RESPONSE,
  readingOf,
  relog,
  STREAM,
} from "./sample.ts";

const DEATH = "control plane: kill";

test("a gap excuses events that were shown and never stored, unless the prediction itself made them", () => {
  const lost = (event: string): History => {
    const history = calmHistory();
    const jump = ({ id, ...rest }: Event) => ({ ...rest, id: id > 3 ? id + 16_384 : id });
    relog(history, STREAM, (log) => log.map(jump));
    history.faults.push({
      at: Date.parse(at(history.ends, STREAM).row?.created_at ?? ""),
      what: DEATH,
      ms: 0,
    });
    readingOf(history, STREAM).events.splice(3, 0, { id: 4, event, data: "lost" });
    return history;
  };
  expect(brokenIn(lost("output"))).toEqual([]);
  expect(brokenIn(lost("status")).map(({ name }) => name)).toEqual([READERS]);
});

test("an object that could be idle for 10 s may leave a gap", () => {
  const isBroken = (ms: number): boolean => {
    const history = calmHistory();
    const greeting = objectOf(history, GREETING);
    greeting.updated_at = new Date(Date.parse(greeting.created_at) + ms).toISOString();
    const jump = ({ id, ...rest }: Event) => ({ ...rest, id: id > 2 ? id + 16_384 : id });
    relog(history, GREETING, (log) => log.map(jump));
    return brokenIn(history).some(({ what }) => what.includes("gaps"));
  };
  expect([9_999, 10_000].map(isBroken)).toEqual([true, false]);
});

test("lists may lag a little, and for longer where the control plane broke meanwhile", () => {
  const lagging = (ms: number, fault?: Omit<History["faults"][number], "what">): History => {
    const history = calmHistory();
    const { id, row } = at(history.ends, GREETING);
    const endedAt = Date.parse(row?.updated_at ?? "");
    const listed = { id, by: "list" as const, status: "started" as const };
    history.sightings = [{ ...listed, askedAt: endedAt + ms, seenAt: endedAt + ms }];
    if (fault) history.faults.push({ ...fault, at: endedAt + fault.at, what: DEATH });
    return history;
  };
  const isBroken = (history: History) => brokenIn(history).some(({ name }) => name === LISTS);
  expect([5_000, 5_001].map((ms) => isBroken(lagging(ms)))).toEqual([false, true]);
  const whenKilled = (at: number, ms = 0) => isBroken(lagging(60_000, { at, ms }));
  expect([-1_001, -999, 4_999, 5_001].map((at) => whenKilled(at))).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect(whenKilled(-5_000, 4_500)).toBe(false);
});

test("a reader that starts again keeps a beginning of the log, without a gap", () => {
  const history = calmHistory();
  const reading = readingOf(history, STREAM);
  const isBroken = () => brokenIn(history).some(({ name }) => name === READERS);
  reading.events.splice(3);
  reading.complete = false;
  expect(isBroken()).toBe(true);
  reading.given_up = true;
  expect(isBroken()).toBe(false);
  reading.events.splice(1, 1);
  expect(isBroken()).toBe(true);
});

test("the stream of a canceled response may end without a last event", () => {
  const history = calmHistory();
  const isBroken = () => brokenIn(history).some(({ name }) => name === READERS);
  Object.assign(at(readingOf(history, RESPONSE + 1).connections, 0), { ended: "end" });
  expect(isBroken()).toBe(true);
  Object.assign(objectOf(history, RESPONSE), { status: "canceled" });
  expect(isBroken()).toBe(false);
});

test("a prediction that never began has no log, and nobody got its id", () => {
  const history = calmHistory();
  const { row } = at(history.ends, GREETING);
  if (!row) throw new Error("it has no row");
  const id = "01a211fd-fb6e-7768-b658-888732000099";
  const failed = { ...row, id, status: "failed" as const };
  const object = { ...failed, input: null, output: null, data_removed: true };
  const end = { id, account: "ada" as const, object, exported: object, log: [], webhooks: [] };
  history.ends.push({ ...end, row: failed });
  expect(brokenIn(history)).toEqual([]);
  at(history.ends, -1).row = row;
  expect(brokenIn(history)).not.toEqual([]);
});

test("a delivery that failed many times may be put off beyond the calm", () => {
  const history = calmHistory();
  const attempt = { at: "", status: null, duration_ms: 1, error: "refused", response: null };
  const told = (tries: number) => {
    const attempts = Array.from({ length: tries }, () => attempt);
    const delivery = { endpoint_id: null, url: null, next_attempt_at: null, attempts };
    const event = { id: "evt", event: "completed" as const, sequence: 5, created_at: "" };
    const webhooks = [{ ...event, deliveries: [{ ...delivery, state: "pending" as const }] }];
    edit(history, GREETING, { webhooks });
    return brokenIn(history).length === 0;
  };
  history.deliveries = history.deliveries.filter(
    ({ endpoint_id, payload }) => endpoint_id !== null || payload.webhook.event === "started",
  );
  expect([told(0), told(4), told(5)]).toEqual([false, false, true]);
});
