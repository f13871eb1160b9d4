/** The machine's hardware: cores and memory from the system, GPUs from nvidia-smi if present. */
import os from "node:os";
import type { Load, Machine } from "../../../src/protocol/runner.ts";
import type { GpuReading } from "../../../src/protocol/runner-state.ts";
import { queryGpus } from "../devices/nvidia-smi.ts";

export type Gpu = Machine["gpus"][number];

/** @param others shown where the driver lists none */
export async function readMachine(others: readonly Gpu[] = []): Promise<Machine> {
  const gpus = parseGpus(await queryGpus("name,memory.total").catch(() => ""));
  return {
    cpus: os.availableParallelism(),
    memory_gb: toGb(os.totalmem()),
    gpus: gpus.length > 0 ? gpus : others.map(({ name, memory_gb }) => ({ name, memory_gb })),
  };
}

/** @param gpus what the driver last measured */
export const readLoad = (gpus: Iterable<GpuReading>): Load => ({
  cpu: os.loadavg()[0] ?? 0,
  memory_used_gb: toGb(os.totalmem() - os.freemem()),
  gpus: Array.from(gpus, ({ utilization = 0, memory_used_bytes = 0 }) => ({
    used: utilization,
    memory_used_gb: toGb(memory_used_bytes),
  })),
});

/** Lines of `name, MiB`. */
export const parseGpus = (csv: string): Gpu[] =>
  rows(csv).map(([name = "", memory]) => ({
    name: name.slice(0, 200),
    memory_gb: mibToGb(amount(memory)),
  }));

const rows = (csv: string) =>
  csv
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.split(",").map((cell) => cell.trim()));

/** Some cards report `[N/A]` or `[Not Supported]`. */
const amount = (cell = "") => Number.parseFloat(cell) || 0;

const mibToGb = (mib: number) => toGb(mib * 1024 ** 2);

const toGb = (bytes: number) => Math.round((bytes / 1024 ** 3) * 10) / 10;
