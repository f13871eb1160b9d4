/**
 * What was made to take long, next to something ordinary of the same size: without bounds most of it
 * would take seconds to hours. That it is refused or read as it should is held by the tests.
 */
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "../../src/dev/bundle.ts";
import type { Effort } from "./effort.ts";
import type { Case } from "./hostile-cases.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times } from "./table.ts";

/** Of an isolate, which answers nobody else meanwhile, ms. */
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

/** Bundled, for Node does not read the JSX of the pages. */
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

/** Of this process's own time, ms: others have the processors, too. It may end in a refusal. */
function timeOf(act: () => unknown): number {
  const before = process.cpuUsage();
  try {
    act();
  } catch {
    // How it ends is for the tests.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
