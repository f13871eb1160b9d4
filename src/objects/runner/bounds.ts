/**
 * What of a runner's words its object is told. They travel in a header, and the headers of a
 * request may take 128 KB: at its worst a report takes 52 KB (a thousand predictions that run take
 * 39, fifty models 10), a session 22 KB (most of it the names of GPUs).
 */
import type { SessionRequest, TelemetryRequest } from "../../protocol/runner.ts";
import type { Report } from "./object.ts";

const MAX_WARM = 50;
const MAX_GPUS = 32;
/** Each may be six characters when it is escaped. */
const MAX_GPU_NAME = 100;

export function boundedSession({ machine, ...session }: SessionRequest): SessionRequest {
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
