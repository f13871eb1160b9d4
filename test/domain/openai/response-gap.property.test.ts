/** Sequence numbers across a gap in the IDs of the log: events that were shown there and lost. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ResponseStream, type StreamEvent } from "../../../src/domain/openai/response-stream.ts";
import type { LogEntry } from "../../../src/domain/openai/translation.ts";
import { delta, done, failed, headWith, output, pending, started } from "./response-log.ts";

type Numbered = [id: number, entry: LogEntry];
type Told = StreamEvent & { of: number };

const numbered = (first: number, entries: LogEntry[]) =>
  entries.map((entry, n): Numbered => [first + n, entry]);

function told(log: Numbered[]): Told[] {
  const stream = new ResponseStream(headWith({ background: true }));
  return log.flatMap(([id, entry]) =>
    stream.take(entry, id).map((event) => ({ ...event, of: id })),
  );
}

/** Expects that a reader that saw lost events misses nothing by resuming, and sees nothing twice. */
function expectResumed(stored: LogEntry[], lost: LogEntry[], rest: LogEntry[]) {
  const first = numbered(1, stored);
  const last = numbered(stored.length + lost.length + 500, rest);
  const seen = told([...first, ...numbered(stored.length + 1, lost), ...last]);
  const replay = told([...first, ...last]);
  const numbers = seen.map((event) => event.sequence_number);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  for (const { sequence_number: after, of } of seen) {
    const resumed = replay.filter((event) => event.sequence_number > after);
    expect(replay.filter((event) => event.of > of && !resumed.includes(event))).toEqual([]);
    expect(resumed.filter((event) => event.of < of)).toEqual([]);
  }
  const [end, again] = [seen.at(-1), replay.at(-1)];
  expect([end?.type, end?.sequence_number]).toEqual([again?.type, again?.sequence_number]);
  return { seen, replay };
}

/** Returns the type of each event of the output, with its sequence number. */
const said = (events: Told[]) =>
  events
    .filter(({ type }) => type !== "response.in_progress")
    .map(({ type, sequence_number }) => [sequence_number, type]);

const words = fc.string({ minLength: 1, maxLength: 4 });
const piece = fc.oneof(
  words.map(output),
  words.map((text) => output(delta({ reasoning_content: text }))),
  fc
    .record({ index: fc.nat({ max: 2 }), name: words, args: words })
    .map(({ index, name, args }) =>
      output(delta({ tool_calls: [{ index, function: { name, arguments: args } }] })),
    ),
);
const pieces = fc.array(piece, { maxLength: 8 });
const attempt = (number: number): LogEntry => ({
  event: "status",
  data: { status: "started", attempt: number },
});

test("the end has one sequence number after output was lost with the runner", () => {
  fc.assert(
    fc.property(pieces, pieces, (stored, lost) => {
      expectResumed([pending, started, ...stored], lost, [failed("gone")]);
    }),
  );
});

test("the output of another attempt has the same sequence numbers after the start of one was lost", () => {
  const returned: LogEntry = { event: "status", data: { status: "started", lost: 1 } };
  fc.assert(
    fc.property(pieces, fc.boolean(), (rest, wasStored) => {
      const stored = wasStored ? [pending, started] : [pending];
      const lost: LogEntry[] = wasStored ? [] : [started];
      lost.push({ event: "logs", data: "loading" });
      const why = wasStored ? [returned] : [];
      const { seen, replay } = expectResumed(stored, lost, [...why, attempt(2), ...rest, done()]);
      expect(said(seen)).toEqual(said(replay));
    }),
  );
});
