/**
 * Hostile inputs next to ordinary ones of the same size: without bounds, most would take seconds to hours.
 * The tests check that each is refused or read correctly.
 */
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../src/dev/bundle.ts";
import type { Effort } from "./effort.ts";
import type { Case } from "./hostile-cases.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times } from "./table.ts";

/** The most time of an isolate, which answers no other request meanwhile, ms. */
const MOST_MS = 500;

export async function measureHostile({ rounds }: Effort): Promise<Table> {
  const rows: string[][] = [];
  const worst: number[] = [];
  for (const { what, hostile, ordinary } of await cases()) {
    const [bad, good]: [number[], number[]] = [[], []];
    for (let n = 0; n < rounds; n++) {
      bad.push(timeOf(hostile));
      good.push(timeOf(ordinary));
    }
    worst.push(median(bad));
    rows.push([what, ms(median(bad)), ms(median(good)), times(median(bad) / median(good))]);
  }
  return {
    title: "What was made to take long, of a processor",
    head: ["what", "hostile", "ordinary", "ratio"],
    rows,
    verdicts: [{ what: "the longest, ms", value: Math.max(...worst), bound: { most: MOST_MS } }],
  };
}

/** Bundles the cases, because Node cannot read the JSX of the pages. */
async function cases(): Promise<Case[]> {
  const { outputFiles } = await build({
    entryPoints: [join(ROOT, "test/bench/hostile-cases.ts")],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "es2024",
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  const { CASES }: typeof import("./hostile-cases.ts") = await import(
    `data:text/javascript;base64,${code}`
  );
  return CASES;
}

/**
 * Returns the processor time of this process in `act`, ms, which other processes do not affect. `act` may
 * throw a refusal.
 */
function timeOf(act: () => unknown): number {
  const before = process.cpuUsage();
  try {
    act();
  } catch {
    // The tests check the refusal.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
