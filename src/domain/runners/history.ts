/** The load of a runner over the last day, in steps of five minutes. An hour is stored together. */

export const STEP_MS = 300_000;
const STEPS = 12;
const HOUR_MS = STEPS * STEP_MS;
export const HOURS = 25;
export const DAY_STEPS = 24 * STEPS;

/** The most memory of a GPU that is believed, since a runner may report anything: no GPU has a petabyte. */
const MAX_GB = 1_000_000;

export interface GpuUse {
  /** The used share, 0 to 1. */
  used: number;
  memory_used_gb: number;
}

export interface HistoryStep {
  reports: number;
  running: number;
  gpus: GpuUse[];
}

/** An hour of steps. Null: nothing was reported. */
export interface HistoryHour {
  /** Hours since 1970. */
  hour: number;
  steps: (HistoryStep | null)[];
}

export interface Sample {
  running: number;
  gpus: GpuUse[];
}

/** @returns the current hour with this report, and the hour that ended before it */
export function recorded(
  open: HistoryHour | null,
  sample: Sample,
  now: number,
): { open: HistoryHour; over: HistoryHour | null } {
  const hour = Math.floor(now / HOUR_MS);
  const goesOn = open?.hour === hour;
  const steps: HistoryHour["steps"] = goesOn
    ? open.steps
    : Array.from({ length: STEPS }, () => null);
  const at = Math.floor((now % HOUR_MS) / STEP_MS);
  return {
    open: { hour, steps: steps.with(at, withSample(steps[at] ?? null, sample)) },
    over: goesOn ? null : open,
  };
}

function withSample(step: HistoryStep | null, { running, gpus }: Sample): HistoryStep {
  const before = step?.gpus.length === gpus.length ? step : null;
  const reports = before?.reports ?? 0;
  return {
    reports: reports + 1,
    running: Math.max(step?.running ?? 0, running),
    gpus: gpus.map(({ used, memory_used_gb }, n) => {
      const known = before?.gpus[n] ?? { used: 0, memory_used_gb: 0 };
      return {
        used: rounded(
          (known.used * reports + Math.max(0, Math.min(used, 1))) / (reports + 1),
          1_000,
        ),
        memory_used_gb: rounded(
          Math.max(known.memory_used_gb, Math.min(memory_used_gb, MAX_GB)),
          10,
        ),
      };
    }),
  };
}

const rounded = (value: number, parts: number) => Math.round(value * parts) / parts;

/** Returns when a step of the last day began, Unix ms. */
export const stepStart = (n: number, now: number): number =>
  (Math.floor(now / STEP_MS) - DAY_STEPS + 1 + n) * STEP_MS;

/** Returns the steps of the last day, oldest first: the last one is the current one. */
export function dayOf(hours: readonly HistoryHour[], now: number): (HistoryStep | null)[] {
  const of = new Map(hours.map(({ hour, steps }) => [hour, steps]));
  return Array.from({ length: DAY_STEPS }, (_, n) => {
    const step = stepStart(n, now) / STEP_MS;
    return of.get(Math.floor(step / STEPS))?.[step % STEPS] ?? null;
  });
}
