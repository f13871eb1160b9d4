/**
 * `npm run bench`: the costs of Auspex in time, memory and money, as ratios to the least possible. Fails when
 * a limit is exceeded; a missed target is marked. The state is in TMPDIR: TMPDIR=/dev/shm takes the disk out
 * of both sides.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { bundle } from "../../src/dev/bundle.ts";
import { misused, readCommandLine } from "../../src/dev/command-line.ts";
import { type Bed, startBed } from "./bed.ts";
import { countOperations } from "./bill.ts";
import { measureBudget } from "./budget.ts";
import { measureColdStart } from "./cold-start.ts";
import { type Effort, FULL, QUICK } from "./effort.ts";
import { measureFanout } from "./fanout.ts";
import { measureFar } from "./far.ts";
import { measureFiles } from "./files.ts";
import { measureFirstToken } from "./first-token.ts";
import { measureLatency } from "./latency.ts";
import { measureNeighbours } from "./neighbours.ts";
import { measureOpenAi } from "./openai.ts";
import { measurePages } from "./page.ts";
import { measureRegistry } from "./registry.ts";
import { holds, print, type Table } from "./table.ts";
import { measureWebhooks } from "./webhooks.ts";

type Part = (bed: Bed, effort: Effort) => Promise<Table>;

const PARTS: Record<string, Part> = {
  latency: measureLatency,
  budget: measureBudget,
  first: measureFirstToken,
  fanout: measureFanout,
  files: measureFiles,
  registry: measureRegistry,
  openai: measureOpenAi,
  webhooks: measureWebhooks,
  neighbours: measureNeighbours,
  page: measurePages,
};
/** Parts that need no warm deployment, or none at all. */
const ALONE: Record<string, (effort: Effort) => Promise<Table>> = {
  bill: countOperations,
  far: measureFar,
  cold: measureColdStart,
};

const NAMES = [...Object.keys(PARTS), ...Object.keys(ALONE)];
const USAGE = `npm run bench -- [--quick] [--only a,b]

  --quick      whether it works, not how fast it is: no limit on a ratio of times counts
  --only a,b   some of ${NAMES.join(", ")}`;

const { values } = readCommandLine(USAGE, {
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: NAMES.join(",") },
  },
});
const wanted = values.only.split(",");
const unknown = wanted.filter((name) => !NAMES.includes(name));
if (unknown.length > 0) misused(USAGE, `There is no part ${unknown.join(", ")}.`);

async function measure(wanted: string[], effort: Effort): Promise<Table[]> {
  const tables: Table[] = [];
  const show = (table: Table) => {
    print(table);
    tables.push(table);
  };
  const parts = Object.entries(PARTS).filter(([name]) => wanted.includes(name));
  if (parts.length > 0) {
    const bed = await startBed(await productionScript());
    try {
      for (const [, part] of parts) show(await part(bed, effort));
    } finally {
      await bed.stop();
    }
  }
  for (const [name, part] of Object.entries(ALONE))
    if (wanted.includes(name)) show(await part(effort));
  return tables;
}

async function productionScript(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "auspex-bench-"));
  try {
    return await bundle(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Returns the load of the machine. A busy machine makes the times meaningless, but not the ratios. */
const load = () => loadavg()[0]?.toFixed(1);

console.log(`${availableParallelism()} cores, load ${load()} before`);
const began = performance.now();
const tables = await measure(wanted, values.quick ? QUICK : FULL);
const seconds = Math.round((performance.now() - began) / 1000);
console.log(`\n${seconds} s, load ${load()} after`);
const verdicts = tables.flatMap(({ verdicts = [] }) => verdicts);
const broken = verdicts.filter((verdict) => verdict.hard && !holds(verdict));
// workerd with an open poll would keep the process alive, so it exits explicitly.
process.exit(broken.length > 0 ? 1 : 0);
