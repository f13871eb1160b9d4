/** Lines of a log as their plain text, and beside it when each came and how it looks. */
import type { LogLine, Segment } from "./log-tail.ts";

export interface LineMarks {
  /** Unix ms. */
  at: number | null;
  /** Of its segments; none if it is plain. */
  spans: { length: number; style: string }[];
}

export const marksOf = (lines: readonly LogLine[]): LineMarks[] =>
  lines.map(({ at, segments }) => {
    const isPlain = segments.every(({ style }) => style === "");
    return { at, spans: isPlain ? [] : segments.map(spanOf) };
  });

const spanOf = ({ text: { length }, style }: Segment) => ({ length, style });

/** @param marks of each line; none if they are not known */
export const linesOf = (text: string, marks: LineMarks[] = []): LogLine[] =>
  text.split("\n").map((line, n) => ({
    at: marks[n]?.at ?? null,
    segments: marks[n]?.spans.length ? divided(line, marks[n].spans) : plain(line),
  }));

const plain = (text: string) => (text === "" ? [] : [{ text, style: "" }]);

function divided(line: string, spans: LineMarks["spans"]): LogLine["segments"] {
  let end = 0;
  return spans.map(({ length, style }) => {
    end += length;
    return { text: line.slice(end - length, end), style };
  });
}
