/** What a runner had to do over the last day, in steps of five minutes. An hour is kept together. */

export const STEP_MS = 300_000;
const STEPS = 12;
const HOUR_MS = STEPS * STEP_MS;
/** Of a day: the hour that goes on, and those before it. */
export const HOURS = 25;
/** The steps of a day. */
export const DAY_STEPS = 24 * STEPS;

/** A runner says what it likes: no GPU has a petabyte. */
const MAX_GB = 1_000_000;

export interface GpuUse {
  /** 0 to 1 */
  used: number;
  memory_used_gb: number;
}

/** Five minutes. */
export interface HistoryStep {
  reports: number;
  /** The most predictions at a time. */
  running: number;
  /** Of each GPU the mean use, and the most memory. */
  gpus: GpuUse[];
}

/** Null: nothing was reported. */
export interface HistoryHour {
  /** Hours since 1970. */
  hour: number;
  steps: (HistoryStep | null)[];
}

export interface Sample {
  running: number;
  gpus: GpuUse[];
}

/** @returns the hour that goes on, with this report, and the one that is over with it */
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

/** When a step of the last day began, unix ms. */
export const stepStart = (n: number, now: number): number =>
  (Math.floor(now / STEP_MS) - DAY_STEPS + 1 + n) * STEP_MS;

/** The steps of the last day, oldest first: the last one is the one that goes on. */
export function dayOf(hours: readonly HistoryHour[], now: number): (HistoryStep | null)[] {
  const of = new Map(hours.map(({ hour, steps }) => [hour, steps]));
  return Array.from({ length: DAY_STEPS }, (_, n) => {
    const step = stepStart(n, now) / STEP_MS;
    return of.get(Math.floor(step / STEPS))?.[step % STEPS] ?? null;
  });
}
