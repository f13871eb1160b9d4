/**
 * `npm run simulate`: the rules of the hand-out under a virtual clock, next to first in first out with least
 * recently used, to warm first alone, and to the same rules with an eviction that knows the future. Fails
 * when a target is missed.
 */
import { misused, readCommandLine, readNumber } from "../../src/dev/command-line.ts";
import { mean } from "../bench/statistics.ts";
import { holds, print, type Table, times, type Verdict } from "../bench/table.ts";
import { measureSpeed } from "./large-pool.ts";
import { POLICY_NAMES, type PolicyName } from "./policies.ts";
import { ARRIVALS, LOADS, type Outcome, SETUPS, type Study, study } from "./scenes.ts";

const USAGE = `npm run simulate -- [options]

  --seeds n   how many traces of each scene (default: 5)
  --quick     one trace of each, and no limit on what a decision takes
  --load n    one of ${LOADS.join(", ")} (all)`;

const { values } = readCommandLine(USAGE, {
  options: {
    seeds: { type: "string", default: "5" },
    load: { type: "string" },
    quick: { type: "boolean", default: false },
  },
});
const count = values.quick ? 1 : readNumber(USAGE, "seeds", values.seeds);
const seeds = Array.from({ length: count }, (_, n) => n + 1);
const loads = values.load === undefined ? LOADS : LOADS.filter((one) => `${one}` === values.load);
if (loads.length === 0) misused(USAGE, `There is no load ${values.load}.`);

const tables = [measureSpeed(!values.quick), ...loads.map(simulateLoad)];
const missed = tables
  .flatMap(({ verdicts = [] }) => verdicts)
  .filter((one) => one.hard && !holds(one));
console.log(missed.length === 0 ? "\nAll targets are met." : `\n${missed.length} targets missed.`);
process.exitCode = missed.length === 0 ? 0 : 1;

function simulateLoad(load: number): Table {
  const scenes = ARRIVALS.flatMap((arrivals) =>
    SETUPS.map((setup) => {
      const studies = seeds.map((seed) => study({ load, arrivals, setup, seed, flood: false }));
      return { name: `${arrivals}, setup ${setup} × run`, studies };
    }),
  );
  const table = {
    title: `Load ${load}: cold starts, p95 wait, lines that grow`,
    head: ["", ...POLICY_NAMES, "flood", "in range", "within 2 ×"],
    rows: scenes.map(({ name, studies }) => [name, ...cellsOf(studies)]),
    verdicts: verdictsOf(
      load,
      scenes.map(({ studies }) => studies),
    ),
  };
  print(table);
  return table;
}

function cellsOf(studies: readonly Study[]): string[] {
  const average = (of: (study: Study) => number) => mean(studies.map(of));
  const outcome = (policy: PolicyName) => {
    const of = (what: keyof Outcome) => average(({ outcomes }) => outcomes[policy][what]);
    const growing = of("grows") > 0 ? `, ${Math.round(of("grows") * 100)} % grow` : "";
    return `${Math.round(of("cold"))}, ${Math.round(of("p95_ms") / 1000)} s${growing}`;
  };
  return [
    ...POLICY_NAMES.map(outcome),
    times(average(({ flood }) => flood)),
    `${Math.round(average(({ within }) => within))} %`,
    `${Math.round(average(({ withinTwice }) => withinTwice))} %`,
  ];
}

/** The load from which on rules with first in first out start too many containers. */
const BUSY_LOAD = 0.2;
/** At this load the line must not grow. */
const HIGH_LOAD = 0.4;

/** @param scenes of a load: each has the studies of its seeds */
function verdictsOf(load: number, scenes: readonly Study[][]): Verdict[] {
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
  if (load === HIGH_LOAD) {
    const growing = average((studies) => sum(studies, "auspex", "grows"));
    verdicts.push(verdict("share of scenes whose line grows", growing, { most: 0 }));
  }
  return verdicts;
}
