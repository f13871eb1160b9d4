/** The targets of the rules, on average over the scenes of a load. */
import { mean } from "../bench/statistics.ts";
import type { Verdict } from "../bench/table.ts";
import type { PolicyName } from "./policies.ts";
import type { Outcome, Study } from "./scenes.ts";

/** The load from which on rules with first in first out start too many containers. */
const BUSY_LOAD = 0.2;
/** At this load the line must not grow. */
const HIGH_LOAD = 0.4;

/** @param scenes of a load: each has the studies of its seeds */
export function verdictsOf(load: number, scenes: readonly Study[][]): Verdict[] {
  /** Averages over the seeds of each scene, and then over the scenes. */
  const average = (of: (studies: readonly Study[]) => number) => mean(scenes.map(of));
  const sum = (studies: readonly Study[], policy: PolicyName, what: keyof Outcome) =>
    mean(studies.map(({ outcomes }) => outcomes[policy][what]));
  const ratio = (what: "cold" | "p95_ms", policy: PolicyName) =>
    average((studies) => sum(studies, "auspex", what) / sum(studies, policy, what));
  const within = average((studies) => mean(studies.map((one) => one.within)));
  const verdict = (what: string, value: number, bound: Verdict["bound"]): Verdict => ({
    what: `load ${load}, ${what}`,
    value,
    bound,
    hard: true,
  });

  const verdicts = [
    verdict("cold starts to those of perfect eviction", ratio("cold", "perfect"), { most: 1.5 }),
    verdict("p95 wait to that of perfect eviction", ratio("p95_ms", "perfect"), { most: 1.2 }),
    verdict(
      "the others' p95 in a flood to that without it",
      average((studies) => mean(studies.map(({ flood }) => flood))),
      { most: 1.25 },
    ),
    verdict(
      "cold starts of claimed models",
      average((studies) => mean(studies.map(({ claims }) => claims.cold))),
      { most: 0 },
    ),
    verdict("waits within their range, %", within, { least: 75 }),
    verdict("waits within their range, %", within, { most: 90 }),
    verdict(
      "waits within twice the middle of their range, %",
      average((studies) => mean(studies.map(({ withinTwice }) => withinTwice))),
      { least: 85 },
    ),
  ];
  if (load >= BUSY_LOAD) {
    const least = { most: 0.6 };
    verdicts.push(verdict("cold starts to those of FIFO with LRU", ratio("cold", "fifo"), least));
  }
  // The GPUs without claims do not keep up with a higher load: waits then grow by chance.
  if (load <= HIGH_LOAD) {
    const others = average((studies) => mean(studies.map(({ claims }) => claims.others)));
    const what = "the others' p95 beside claims to that without the claimed GPUs";
    verdicts.push(verdict(what, others, { most: 1.05 }));
  }
  if (load === HIGH_LOAD) {
    const growing = average((studies) => sum(studies, "auspex", "grows"));
    verdicts.push(verdict("share of scenes whose line grows", growing, { most: 0 }));
  }
  return verdicts;
}
