/** A response whose output comes in any pieces has gapless numbers, one order and the same text. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ResponseStream, type StreamEvent } from "../../../src/domain/openai/response-stream.ts";
import type { LogEntry } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import {
  delta,
  done,
  failed,
  headWith,
  logOf,
  output,
  pending,
  started,
  tell,
  tellUnchecked,
} from "./response-log.ts";

const words = fc.string({ unit: "grapheme", maxLength: 12 });

/** An output of a model, and the part of it that belongs to the answer. */
const said = fc.oneof(
  words.map((text) => ({ output: text as Json, answer: text })),
  words.map((text) => ({ output: delta({ content: text }), answer: text })),
  words.map((text) => ({ output: delta({ reasoning_content: text }), answer: "" })),
  words.map((text) => ({ output: delta({ refusal: text }), answer: "" })),
  words.map((text) => ({
    output: { type: "response.output_text.delta", item_id: "m", delta: text },
    answer: text,
  })),
  fc
    .record({ index: fc.nat({ max: 2 }), name: words, args: words })
    .map(({ index, name, args }) => ({
      output: delta({ tool_calls: [{ index, function: { name, arguments: args } }] }),
      answer: "",
    })),
  words.map((text) => ({
    output: { choices: [{ index: 0, message: { role: "assistant", content: text } }] },
    answer: text,
  })),
);

const end = fc.constantFrom(
  done(),
  done({ status: "canceled" }),
  failed("gone"),
  done({ metrics: { input_tokens: 1, output_tokens: 2 } }),
);

test("a response of any mix of pieces is valid for the published schemas", () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 6 }), end, (pieces, last) => {
      tell(
        logOf(
          pieces.map(({ output }) => output),
          last,
        ),
      );
    }),
    { numRuns: 15 },
  );
});

test("a response of any mix of pieces is in order and has the whole answer", () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 12 }), end, (pieces, last) => {
      const log = logOf(
        pieces.map(({ output }) => output),
        last,
      );
      const { resource, events } = tellUnchecked(log);
      const parts = resource.output.flatMap(({ content }) =>
        Array.isArray(content) ? content : [],
      );
      const answer = parts.flatMap((part) =>
        part && typeof part === "object" && "type" in part && part.type === "output_text"
          ? [part.text]
          : [],
      );
      // Pieces of messages that are open at the same time may alternate.
      expect([...answer.join("")].sort()).toEqual(
        [...pieces.map((one) => one.answer).join("")].sort(),
      );
      expect(tellUnchecked(log).events).toEqual(events);
    }),
    { numRuns: 200 },
  );
});

test("a response of any text in any pieces has this text, streamed and whole", () => {
  fc.assert(
    fc.property(fc.array(words, { minLength: 1, maxLength: 30 }), (pieces) => {
      const { resource, events } = tellUnchecked(logOf(pieces));
      const text = pieces.join("");
      expect(resource.output).toMatchObject([{ content: [{ text }] }]);
      const deltas = events.filter(({ type }) => type === "response.output_text.delta");
      expect(deltas.map((event) => event.delta).join("")).toBe(text);
      expect(resource).toEqual(tellUnchecked(logOf([text])).resource);
    }),
    { numRuns: 50 },
  );
});

test("a stream that is resumed anywhere from the log has the same remaining events", () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 8 }), fc.nat({ max: 40 }), (pieces, after) => {
      const log = logOf(pieces.map(({ output }) => output));
      const again = new ResponseStream(headWith());
      const rest = log
        .flatMap((entry) => again.take(entry))
        .filter((one) => one.sequence_number > after);
      expect(rest).toEqual(tellUnchecked(log).events.slice(after + 1));
    }),
    { numRuns: 50 },
  );
});

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
const numberedTypes = (events: Told[]) =>
  events
    .filter(({ type }) => type !== "response.in_progress")
    .map(({ type, sequence_number }) => [sequence_number, type]);

const shortWords = fc.string({ minLength: 1, maxLength: 4 });
const piece = fc.oneof(
  shortWords.map(output),
  shortWords.map((text) => output(delta({ reasoning_content: text }))),
  fc
    .record({ index: fc.nat({ max: 2 }), name: shortWords, args: shortWords })
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
      expect(numberedTypes(seen)).toEqual(numberedTypes(replay));
    }),
  );
});
