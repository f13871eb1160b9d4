/** Text of OpenMetrics 1.0, which Prometheus and most collectors read. */

export const OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";

export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  /** The suffix of the family's name in a histogram. That of a counter is `_total`. */
  suffix?: "_bucket" | "_sum" | "_count";
  labels: Labels;
  value: number;
}

export interface Family {
  /** Without `_total`. */
  name: string;
  type: "counter" | "gauge" | "histogram" | "info" | "unknown";
  help?: string | undefined;
  samples: Sample[];
}

const SUFFIXES = { counter: "_total", info: "_info", gauge: "", histogram: "", unknown: "" };

/** Returns the families with the first samples of all. */
export function limited(families: Family[], maxSamples: number): Family[] {
  let left = maxSamples;
  return families.map((family) => {
    const samples = family.samples.slice(0, left);
    left -= samples.length;
    return { ...family, samples };
  });
}

/** Returns the families that have samples as text. */
export const expositionOf = (families: Family[]): string =>
  [...linesOf(families), "# EOF", ""].join("\n");

/** Returns the lines of families, which may be put before those of an exposition. */
export const linesOf = (families: Family[]): string[] =>
  families.flatMap(({ name, type, help, samples }) =>
    samples.length === 0
      ? []
      : [
          `# TYPE ${name} ${type}`,
          ...(help ? [`# HELP ${name} ${escaped(help)}`] : []),
          ...samples.map(
            ({ suffix = SUFFIXES[type], labels, value }) =>
              `${name}${suffix}${labelsText(labels)} ${valueText(value)}`,
          ),
        ],
  );

const labelsText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(
    ([name, value]) => `${name}="${escaped(String(value))}"`,
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
};

const valueText = (value: number): string => String(value).replace("Infinity", "Inf");

/** A value of a stranger can end neither its quotes nor its line. */
const escaped = (text: string): string =>
  text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replaceAll("\r", " ");

/** Returns the text of a limit of a bucket: OpenMetrics wants a float. */
export const limitText = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return Number.isInteger(value) ? `${value}.0` : String(value);
};
