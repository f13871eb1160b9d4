/**
 * `npm run bench`: what Auspex costs in time, memory and money, as ratios to the least that would
 * do. Fails when a limit is broken; a target that is missed is marked.
 *
 *   --quick        few rounds: whether it works, not how fast it is
 *   --only a,b     latency, tokens, fanout, memory, bill
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "../../src/local/bundle.ts";
import { startBed } from "./bed.ts";
import { measureLatency } from "./latency.ts";
import { holds, print, type Table } from "./table.ts";

const PARTS = ["latency"];
const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string", default: PARTS.join(",") },
  },
});
const wanted = new Set(values.only.split(","));

async function measure(): Promise<Table[]> {
  const tables: Table[] = [];
  const show = (table: Table) => {
    print(table);
    tables.push(table);
  };
  const folder = await mkdtemp(join(tmpdir(), "auspex-bench-"));
  const script = await bundle(folder);
  await rm(folder, { recursive: true });
  const bed = await startBed(script);
  try {
    if (wanted.has("latency")) show(await measureLatency(bed, Number(process.env.R ?? 15)));
  } finally {
    await bed.stop();
  }
  return tables;
}

const verdicts = (await measure()).flatMap(({ verdicts = [] }) => verdicts);
const broken = verdicts.filter((verdict) => verdict.hard && !holds(verdict));
process.exit(broken.length > 0 ? 1 : 0);
