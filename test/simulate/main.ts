/**
 * `npm run simulate`: the rules of the hand-out under a virtual clock, next to first in first out with least
 * recently used, to warm first alone, and to the same rules with an eviction that knows the future. Fails
 * when a target is missed.
 */
import { misused, readCommandLine, readNumber } from "../../src/dev/command-line.ts";
import { mean } from "../bench/statistics.ts";
import { holds, print, type Table, times } from "../bench/table.ts";
import { measureSpeed } from "./large-pool.ts";
import { POLICY_NAMES, type PolicyName } from "./policies.ts";
import { ARRIVALS, LOADS, type Outcome, SETUPS, type Study, study } from "./scenes.ts";
import { verdictsOf } from "./targets.ts";

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
    head: ["", ...POLICY_NAMES, "flood", "beside claims", "in range", "within 2 ×"],
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
    times(average(({ claims }) => claims.others)),
    `${Math.round(average(({ within }) => within))} %`,
    `${Math.round(average(({ withinTwice }) => withinTwice))} %`,
  ];
}
