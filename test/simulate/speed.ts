/** The time of a decision in a large pool. */
import { decide } from "../../src/domain/scheduling/decide/decide.ts";
import type { PoolState } from "../../src/domain/scheduling/decide/pool-state.ts";
import { quantile } from "../bench/statistics.ts";
import { ms, print, type Table } from "../bench/table.ts";
import { BOXES, CONTAINERS, LARGE_POOLS, largePool, NOW, WAITING } from "./large-pool.ts";

const ROUNDS = 5;
const DECISIONS = 200;
const MOST_MS = 0.2;

/** @param isLimited whether a decision that takes too long is a missed target */
export function measureSpeed(isLimited: boolean): Table {
  const rows: string[][] = [];
  let worst = 0;
  for (const [name, pool] of Object.entries(LARGE_POOLS)) {
    const rounds = Array.from({ length: ROUNDS }, () => decisionsOf(largePool(pool)));
    const best = (q: number) => Math.min(...rounds.map((taken) => quantile(taken, q)));
    worst = Math.max(worst, best(0.5));
    rows.push([name, ms(best(0.5)), ms(best(0.95))]);
  }
  const bound = { most: MOST_MS };
  const what = "a decision, in the median of the best round, ms";
  const table: Table = {
    title: `decide among ${BOXES} boxes with ${CONTAINERS} containers each, ${WAITING} jobs waiting`,
    head: ["", "median", "p95"],
    rows,
    verdicts: [{ what, value: worst, bound, hard: isLimited }],
  };
  print(table);
  return table;
}

/** Returns the time of each decision, ms. */
function decisionsOf(state: PoolState): number[] {
  return Array.from({ length: DECISIONS }, () => {
    const began = performance.now();
    const decision = decide(state, NOW);
    const took = performance.now() - began;
    state.apply(decision, NOW);
    return took;
  });
}
