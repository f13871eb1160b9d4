/** What looks like a breach and is none. */
import { expect, test } from "vitest";
import type { Event, History } from "../history.ts";
import {
  at,
  brokenIn,
  calmHistory,
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
