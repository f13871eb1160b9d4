/** A strict reader of OpenMetrics 1.0 text, which throws where a collector may. */

export interface ReadSeries {
  family: string;
  type: string;
  name: string;
  labels: Map<string, string>;
  value: string;
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/y;

/** The suffixes of the samples of each type. A family takes all names that it could have. */
const SUFFIXES: Record<string, string[]> = {
  counter: ["_total", "_created"],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count", "_created"],
  info: ["_info"],
  unknown: [""],
};

const fail = (line: string): never => {
  throw new Error(`not OpenMetrics: ${JSON.stringify(line)}`);
};

export function readOpenMetrics(text: string): ReadSeries[] {
  if (!text.endsWith("# EOF\n")) fail(text.slice(-20));
  const taken = new Set<string>();
  const seen = new Set<string>();
  const found: ReadSeries[] = [];
  let [family, type] = ["", ""];
  for (const line of text.split("\n").slice(0, -2)) {
    const [, kind, name = "", rest = ""] = /^# (TYPE|HELP) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "TYPE") {
      [family, type] = [name, rest];
      const suffixes = SUFFIXES[type] ?? fail(line);
      if (!NAME.test(family)) fail(line);
      for (const one of new Set([family, ...suffixes.map((suffix) => family + suffix)])) {
        if (taken.has(one)) fail(line);
        taken.add(one);
      }
      continue;
    }
    if (kind === "HELP") {
      if (name !== family) fail(line);
      continue;
    }
    const series = readSample(line, family, type);
    const key = JSON.stringify([series.name, [...series.labels].sort()]);
    if (seen.has(key)) fail(line);
    seen.add(key);
    found.push(series);
  }
  checkHistograms(found);
  return found;
}

function readSample(line: string, family: string, type: string): ReadSeries {
  const [, name = "", text = "", value = ""] = SAMPLE.exec(line) ?? fail(line);
  const suffix = name.startsWith(family) ? name.slice(family.length) : fail(line);
  if (!SUFFIXES[type]?.includes(suffix)) fail(line);
  const number = Number(value.replace("Inf", "Infinity"));
  if (value !== "NaN" && Number.isNaN(number)) fail(line);
  if (["counter", "histogram"].includes(type) && !(number >= 0)) fail(line);
  const labels = new Map<string, string>();
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const [, label = "", told = ""] = LABEL.exec(text) ?? fail(line);
    if (labels.has(label) || label.startsWith("__")) fail(line);
    labels.set(
      label,
      told.replace(/\\(.)/g, (_, one) => (one === "n" ? "\n" : one)),
    );
  }
  return { family, type, name, labels, value };
}

/** Each histogram has its limits in order, the last one infinite, and counts that rise up to that of all. */
function checkHistograms(series: ReadSeries[]): void {
  const groups = Map.groupBy(
    series.filter(({ type }) => type === "histogram"),
    ({ family, labels }) =>
      JSON.stringify([family, [...labels].filter(([label]) => label !== "le").sort()]),
  );
  for (const [key, group] of groups) {
    const numbers = (suffix: string, of: (one: ReadSeries) => string | undefined) =>
      group
        .filter(({ family, name }) => name === family + suffix)
        .map((one) => Number(of(one)?.replace("+Inf", "Infinity")));
    const limits = numbers("_bucket", ({ labels }) => labels.get("le"));
    const counts = numbers("_bucket", ({ value }) => value);
    const isOrdered = limits.every((limit, n) => n === 0 || limit > (limits[n - 1] ?? 0));
    const rises = counts.every((count, n) => n === 0 || count >= (counts[n - 1] ?? 0));
    const [count = counts.at(-1)] = numbers("_count", ({ value }) => value);
    if (!isOrdered || !rises || limits.at(-1) !== Infinity || count !== counts.at(-1)) fail(key);
    // The samples of a histogram follow each other.
    const first = series.indexOf(group[0] ?? fail(key));
    if (!group.every((one, n) => series[first + n] === one)) fail(key);
  }
}
