/**
 * Families of metrics from what several containers serve, with labels that say whose each series is. A
 * container can write no other label of these names, no name of Auspex, and nothing that makes the whole
 * exposition invalid.
 */
import type { Family, Sample } from "../../../src/lib/openmetrics.ts";
import { type MetricsText, numberOf, type Point } from "./parse.ts";

/** Labels that are added to each series of a container. */
export interface Origin {
  runner: string;
  /** `owner/name`. */
  model: string;
  version: string;
  /** Tells containers of one version apart. */
  container: string;
}

export interface Passed {
  origin: Origin;
  text: MetricsText;
}

/** A container's own labels of these names get a prefix, as Prometheus does it. */
const ORIGIN = /^(?:exported_)*(?:runner|model|version|container)$/;
/** Names of Auspex, and those that Prometheus gives to what it measures itself. */
const RESERVED = /^(?:auspex(?:[_:]|$)|up$|scrape_|ALERTS)/;

type Suffix = NonNullable<Sample["suffix"]>;
const SUFFIXES: readonly Suffix[] = ["_bucket", "_sum", "_count"];

/** Names that a family takes besides its own. */
const TAKEN = {
  counter: ["_total", "_created"],
  histogram: [...SUFFIXES, "_created"],
  gauge: [],
  unknown: [],
};

interface Kind {
  family: string;
  type: keyof typeof TAKEN;
  suffix?: Suffix;
}

interface Series extends Kind, Point {
  help: string | undefined;
  origin: Origin;
}

export function mergedFamilies(all: readonly Passed[]): Family[] {
  const series = all.flatMap(seriesOf);
  const agrees = agreement(series);
  const families = new Map<string, Family>();
  for (const one of series) {
    const isAgreed = agrees(one);
    const name = isAgreed ? one.family : one.name;
    const type = isAgreed ? one.type : "unknown";
    const family = families.get(name) ?? { name, type, help: one.help, samples: [] };
    families.set(name, family);
    const labels = { ...one.origin, ...Object.fromEntries(one.labels) };
    const suffix = isAgreed && one.suffix ? { suffix: one.suffix } : {};
    family.samples.push({ ...suffix, labels, value: one.value });
  }
  return [...families.values()];
}

/**
 * Returns whether a family has no name in common with another one, nor another type in another container.
 * Otherwise its series keep their names and have no type, so that no container can suppress those of others.
 */
function agreement(series: readonly Series[]): (kind: Kind) => boolean {
  const owners = new Map<string, string>();
  const ownerOf = ({ type, family }: Kind) => `${type} ${family}`;
  for (const one of series)
    for (const name of [one.name, one.family]) {
      const owner = ownerOf(one);
      owners.set(name, (owners.get(name) ?? owner) === owner ? owner : "disputed");
    }
  const known = new Map<string, boolean>();
  return (kind) => {
    const owner = ownerOf(kind);
    const names = [kind.family, ...TAKEN[kind.type].map((suffix) => kind.family + suffix)];
    const isAgreed =
      known.get(owner) ?? names.every((name) => (owners.get(name) ?? owner) === owner);
    known.set(owner, isAgreed);
    return isAgreed;
  };
}

function seriesOf({ origin, text }: Passed): Series[] {
  const seen = new Set<string>();
  const histograms = new Map<string, Series[]>();
  const series = text.points.flatMap((point): Series[] => {
    const { name, value } = point;
    if (RESERVED.test(name) || isCreated(text, name)) return [];
    const kind = kindOf(text, name);
    const help = text.helps.get(kind.family) ?? text.helps.get(name);
    const labels = new Map(
      Array.from(point.labels, ([label, told]): [string, string] => [
        ORIGIN.test(label) ? `exported_${label}` : label,
        told,
      ]),
    );
    const one = { ...kind, name, labels, value, help, origin };
    if (kind.type === "histogram") {
      const key = kind.family + keyOf(labels, kind.suffix === "_bucket" ? "le" : undefined);
      const group = histograms.get(key) ?? [];
      histograms.set(key, group);
      group.push(one);
      return [];
    }
    const key = name + keyOf(labels);
    if (seen.has(key) || (kind.type === "counter" && !(value >= 0))) return [];
    seen.add(key);
    return [one];
  });
  return [...series, ...[...histograms.values()].flatMap(histogramOf)];
}

function kindOf({ types }: MetricsText, name: string): Kind {
  const declared = types.get(name);
  if (declared === "gauge") return { family: name, type: "gauge" };
  // Families of format 0.0.4 have the suffix of a counter in their name, and those of OpenMetrics do not.
  const counter = withoutSuffix(name, "_total");
  if (counter && [declared, types.get(counter)].includes("counter"))
    return { family: counter, type: "counter" };
  for (const suffix of SUFFIXES) {
    const family = withoutSuffix(name, suffix);
    if (family && types.get(family) === "histogram") return { family, type: "histogram", suffix };
  }
  return { family: name, type: "unknown" };
}

/** Whether the series tells when another one was created, which OpenMetrics has no place for in a gauge. */
function isCreated({ types }: MetricsText, name: string): boolean {
  const family = withoutSuffix(name, "_created");
  if (!family) return false;
  const declared = types.get(family) ?? types.get(`${family}_total`) ?? "";
  return ["counter", "histogram", "summary"].includes(declared);
}

const withoutSuffix = (name: string, suffix: string): string | undefined =>
  name.endsWith(suffix) ? name.slice(0, -suffix.length) : undefined;

const keyOf = (labels: ReadonlyMap<string, string>, except?: string): string =>
  JSON.stringify(
    [...labels].filter(([label]) => label !== except).sort(([a], [b]) => (a < b ? -1 : 1)),
  );

/** Returns the series of one histogram in the order of their limits; none if they contradict each other. */
function histogramOf(group: Series[]): Series[] {
  const buckets = new Map<number, Series>();
  for (const one of group) {
    const limit = numberOf(one.labels.get("le") ?? "") ?? Number.NaN;
    const isUsable = limit > Number.NEGATIVE_INFINITY && Number.isSafeInteger(one.value);
    if (one.suffix === "_bucket" && isUsable && !buckets.has(limit)) buckets.set(limit, one);
  }
  const ordered = [...buckets].sort(([a], [b]) => a - b);
  const total = buckets.get(Number.POSITIVE_INFINITY)?.value;
  const values = ordered.map(([, { value }]) => value);
  const rises = values.every((value, place) => value >= (values[place - 1] ?? 0));
  if (total === undefined || !rises) return [];
  const count = group.find(({ suffix }) => suffix === "_count");
  // A sum of negative values would be none that only rises.
  const sum = group.find(({ suffix, value }) => suffix === "_sum" && value >= 0);
  const hasSum = count && sum && (ordered[0]?.[0] ?? 0) >= 0;
  return [
    ...ordered.map(([limit, one]) => ({ ...one, labels: withLimit(one.labels, limit) })),
    ...(hasSum ? [sum] : []),
    ...(count ? [{ ...count, value: total }] : []),
  ];
}

/** OpenMetrics wants a float, and the text of the container is kept where it is one. */
function withLimit(labels: ReadonlyMap<string, string>, limit: number): Map<string, string> {
  const told = labels.get("le") ?? "";
  const float = /^\d+$/.test(told) ? `${told}.0` : told;
  return new Map([...labels, ["le", Number.isFinite(limit) ? float : "+Inf"]]);
}
