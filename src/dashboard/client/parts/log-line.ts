/** A line of the log as an element: the same markup as in prediction-view/logs.tsx. */
import {
  isWanted,
  LOG_LEVELS,
  type LogLevel,
  type LogQuery,
  levelOf,
  withHits,
} from "../../../domain/predictions/log-search.ts";
import type { LogLine } from "../../../domain/predictions/log-tail.ts";
import { type Segment, segmentsOf } from "../../../domain/predictions/log-text.ts";
import { element } from "./element.ts";
import { clockText } from "./enhance.ts";

export function lineElement(line: LogLine, before: Element | null, query: LogQuery): HTMLElement {
  const segments = segmentsOf(line.text);
  const text = textOf(segments);
  const level = levelOf(text, levelIn(before));
  const created = element("span", "line", element("span", "", ...nodesOf(segments, query)));
  if (level) created.dataset.level = level;
  created.hidden = !isWanted(text, level, query);
  if (line.at !== null) {
    const time = element("time", "", clockText(new Date(line.at)));
    time.dateTime = new Date(line.at).toISOString();
    time.dataset.clock = "";
    created.prepend(time);
  }
  return created;
}

/** Shows or hides a line by the current search, and marks its hits. @returns whether it is shown */
export function updateLine(line: HTMLElement, query: LogQuery): boolean {
  const segments = segmentsIn(line);
  const text = textOf(segments);
  line.hidden = !isWanted(text, levelIn(line), query);
  const hasHits = line.querySelector("mark") !== null;
  if (hasHits || (!line.hidden && query.find !== ""))
    contentOf(line)?.replaceChildren(...nodesOf(segments, query));
  return !line.hidden;
}

/** Reads a line back from an element that the server or `lineElement` has made. */
export const lineIn = (line: Element): LogLine => {
  const time = line.querySelector("time");
  return { text: contentOf(line)?.textContent ?? "", at: time && Date.parse(time.dateTime) };
};

function segmentsIn(line: Element): Segment[] {
  const segments: Segment[] = [];
  for (const node of contentOf(line)?.childNodes ?? []) {
    const style = node instanceof HTMLElement && node.localName === "b" ? node.className : "";
    const last = segments.at(-1);
    if (last?.style === style) last.text += node.textContent ?? "";
    else segments.push({ text: node.textContent ?? "", style });
  }
  return segments;
}

const textOf = (segments: Segment[]) => segments.map(({ text }) => text).join("");

const contentOf = (line: Element) => line.querySelector(":scope > span");

function levelIn(line: Element | null): LogLevel | undefined {
  const name = line?.getAttribute("data-level");
  return LOG_LEVELS.find((level) => level === name);
}

const nodesOf = (segments: Segment[], { find }: LogQuery): (string | Node)[] =>
  withHits(segments, find).map(({ text, style, hit }) => {
    const content = hit ? element("mark", "", text) : text;
    return style === "" ? content : element("b", style, content);
  });
