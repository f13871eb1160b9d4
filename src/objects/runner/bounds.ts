/**
 * Bounds on what a runner's object is sent. It travels in a header, and the headers of a request may
 * have 128 KB: a report has at most 52 KB (39 for a thousand running predictions, 10 for fifty
 * models), a session 23 KB (most of it the names of GPUs).
 */
import type { TelemetryRequest } from "../../protocol/runner.ts";
import type { NewSession, Report } from "./rpc-types.ts";

const MAX_WARM = 50;
const MAX_GPUS = 32;
/** Each character may take six when it is escaped. */
const MAX_GPU_NAME = 100;

export function boundedSession({ machine, ...session }: NewSession): NewSession {
  const gpus = machine.gpus
    .slice(0, MAX_GPUS)
    .map(({ name, memory_gb }) => ({ name: name.slice(0, MAX_GPU_NAME), memory_gb }));
  return { ...session, machine: { ...machine, gpus } };
}

export function boundedReport({ runner_id: _, warm, load, ...report }: TelemetryRequest): Report {
  return {
    ...report,
    warm: warm.filter(isModel).slice(0, MAX_WARM),
    load: { ...load, ...(load.gpus && { gpus: load.gpus.slice(0, MAX_GPUS) }) },
  };
}

const isModel = (text: string) => /^[\w.:/@-]+$/.test(text);
