/** What looks like a breach and is none. */
import { expect, test } from "vitest";
import type { Event, History } from "../history.ts";
import {
  at,
  brokenIn,
  calmHistory,
  edit,
  GREETING,
  objectOf,
  READERS,
  RESPONSE,
  readingOf,
  relog,
  STREAM,
} from "./sample.ts";

const DEATH = "control plane: kill";

test("what was shown and never stored is excused by a gap, unless the prediction said it itself", () => {
  const lost = (event: string): History => {
    const history = calmHistory();
    const jump = ({ id, ...rest }: Event) => ({ ...rest, id: id > 3 ? id + 16_384 : id });
    relog(history, STREAM, (log) => log.map(jump));
    history.faults.push({
      at: Date.parse(at(history.ends, STREAM).row?.created_at ?? ""),
      what: DEATH,
    });
    readingOf(history, STREAM).events.splice(3, 0, { id: 4, event, data: "lost" });
    return history;
  };
  expect(brokenIn(lost("output"))).toEqual([]);
  expect(brokenIn(lost("status")).map(({ name }) => name)).toEqual([READERS]);
});

test("the stream of a response may end without a last event once that is canceled", () => {
  const history = calmHistory();
  const isBroken = () => brokenIn(history).some(({ name }) => name === READERS);
  Object.assign(at(readingOf(history, RESPONSE + 1).connections, 0), { ended: "end" });
  expect(isBroken()).toBe(true);
  Object.assign(objectOf(history, RESPONSE), { status: "canceled" });
  expect(isBroken()).toBe(false);
});

test("what never began has no log, and nobody got its id", () => {
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
  const attempt = { at: "", status: null, duration_ms: 1, error: "refused" };
  const told = (tries: number) => {
    const attempts = Array.from({ length: tries }, () => attempt);
    const delivery = { endpoint_id: null, url: null, next_attempt_at: null, attempts };
    const event = { id: "evt", event: "completed" as const, sequence: 5, created_at: "" };
    const webhooks = [{ ...event, deliveries: [{ ...delivery, state: "pending" as const }] }];
    edit(history, GREETING, { webhooks });
    return brokenIn(history).length === 0;
  };
  history.deliveries.splice(0);
  expect([told(0), told(4), told(5)]).toEqual([false, false, true]);
});
