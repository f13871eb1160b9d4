/**
 * Reads what a container serves at /metrics: Prometheus' text format 0.0.4, or OpenMetrics. The container is
 * not trusted: a line that does not parse is dropped, and the time to read it grows with its length only.
 */

export interface Point {
  /** The whole name, such as `vllm:e2e_request_latency_seconds_bucket`. */
  name: string;
  labels: ReadonlyMap<string, string>;
  value: number;
}

export interface MetricsText {
  points: Point[];
  /** Types and helps by the name of the family, as the container writes it. */
  types: ReadonlyMap<string, string>;
  helps: ReadonlyMap<string, string>;
  /** The number of lines that were dropped. */
  dropped: number;
}

export const MAX_POINTS = 5_000;
/** Each family has two lines besides its points. */
const MAX_LINES = 4 * MAX_POINTS;
const MAX_LINE = 8_192;
/** The most labels of a series: servers have ten. */
const MAX_LABELS = 32;

const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/y;
const LABEL = /[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|(?=\}))/y;
/** The value, a timestamp, and an exemplar of OpenMetrics. */
const REST = /^[ \t]+(\S+)(?:[ \t]+[-+.\de]+)?(?:[ \t]+#[ \t]*\{.*)?[ \t]*$/i;
const META = /^#[ \t]+(TYPE|HELP)[ \t]+([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]+(.*)$/;

export function parseMetrics(text: string, maxPoints = MAX_POINTS): MetricsText {
  const points: Point[] = [];
  const told = { TYPE: new Map<string, string>(), HELP: new Map<string, string>() };
  let dropped = 0;
  let count = 0;
  for (const line of linesOf(text)) {
    count += 1;
    if (count > MAX_LINES) break;
    const isRead = line.length <= MAX_LINE && points.length < maxPoints;
    const [, kind, name = "", rest = ""] = (isRead && META.exec(line)) || [];
    if (kind === "TYPE" || kind === "HELP") {
      if (!told[kind].has(name)) told[kind].set(name, unescaped(rest.trim()));
      continue;
    }
    if (line.startsWith("#") || line.trim() === "") continue;
    const point = isRead ? parsePoint(line) : undefined;
    if (point) points.push(point);
    else dropped += 1;
  }
  return { points, types: told.TYPE, helps: told.HELP, dropped };
}

function* linesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const next = text.indexOf("\n", from);
    const to = next === -1 ? text.length : next;
    yield text.slice(from, to);
    from = to + 1;
  }
}

function parsePoint(line: string): Point | undefined {
  NAME.lastIndex = 0;
  const [name] = NAME.exec(line) ?? [];
  if (name === undefined) return undefined;
  const labels = new Map<string, string>();
  let end = name.length;
  if (line[end] === "{") {
    LABEL.lastIndex = end + 1;
    while (line[LABEL.lastIndex] !== "}") {
      const [, label = "", text = ""] = LABEL.exec(line) ?? [];
      // Prometheus keeps names with two underscores for itself: `__name__` is that of the series.
      if (label === "" || label.startsWith("__") || labels.has(label)) return undefined;
      if (labels.size === MAX_LABELS) return undefined;
      labels.set(label, unescaped(text));
    }
    end = LABEL.lastIndex + 1;
  }
  const [, told = ""] = REST.exec(line.slice(end)) ?? [];
  const value = numberOf(told);
  if (value === undefined) return undefined;
  // A label without a value is the same as no label.
  for (const [label, text] of labels) if (text === "") labels.delete(label);
  return { name, labels, value };
}

export function numberOf(text: string): number | undefined {
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  if (/^nan$/i.test(text)) return Number.NaN;
  const [, sign] = /^([+-]?)inf(?:inity)?$/i.exec(text) ?? [];
  if (sign === undefined) return undefined;
  return sign === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
}

/** A carriage return becomes a space, as where the text is written (lib/openmetrics.ts). */
const unescaped = (text: string): string =>
  text
    .replace(/\\([\\"n])/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped))
    .replaceAll("\r", " ");
