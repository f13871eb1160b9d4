/** The use of a pool's GPUs over time, from sums of readings that rise like those of predictions. */
import type { PoolGauges } from "./gauges.ts";
import { risesOf, type SumsAt } from "./history.ts";
import type { Measures } from "./measures.ts";

const MIB = 1024 ** 2;
/** No GPU counts as more: the sums of 90 days are then safe integers, whatever runners say. */
const MAX_MIB = 16 * 1024 ** 2;

/** Returns one reading of all GPUs: how many said how busy they are, in thousandths, and their memory in MiB. */
export function gpuMeasures(gpus: PoolGauges["gpus"]): Measures {
  const sums = { readings: 0, busy: 0, memory_used: 0, memory_total: 0 };
  for (const { reading } of gpus) {
    const { utilization, memory_used_bytes: used, memory_total_bytes: total } = reading;
    if (utilization !== undefined) {
      sums.readings += 1;
      sums.busy += Math.round(utilization * 1_000);
    }
    if (used === undefined || total === undefined) continue;
    const mib = Math.min(Math.round(total / MIB), MAX_MIB);
    sums.memory_total += mib;
    sums.memory_used += Math.min(Math.round(used / MIB), mib);
  }
  return Object.fromEntries(Object.entries(sums).filter(([, sum]) => sum > 0));
}

export interface GpuPoint {
  /** When the point begins, unix ms. */
  at: number;
  /** Shares from 0 to 1; null where nothing was read. */
  busy: number | null;
  memory: number | null;
}

/**
 * Returns a point for each pair of boundaries.
 * @param samples sums of readings, oldest first, up to the present
 */
export const gpuPointsOf = (samples: SumsAt[], boundaries: number[]): GpuPoint[] =>
  risesOf([samples], boundaries).map(
    ({ readings, busy = 0, memory_used = 0, memory_total }, n) => ({
      at: boundaries[n] ?? 0,
      busy: readings ? busy / (1_000 * readings) : null,
      memory: memory_total ? memory_used / memory_total : null,
    }),
  );
