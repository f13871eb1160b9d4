/** The simulated scenes, and the results of each. */
import { explain } from "../../src/domain/scheduling/decide/explain.ts";
import type { Range } from "../../src/domain/scheduling/decide/forecasts.ts";
import { mean, quantile } from "../bench/statistics.ts";
import { POLICIES, type PolicyName } from "./policies.ts";
import { type Course, type Fate, simulate } from "./simulate.ts";
import { FLOODER, GPUS, HARDWARE, type Scene, type SimulatedJob, traceOf } from "./trace.ts";

export const LOADS = [0.05, 0.1, 0.2, 0.4, 0.5];
export const ARRIVALS = ["poisson", "bursts"] as const;
export const SETUPS = [2, 6];

export interface Outcome {
  cold: number;
  p95_ms: number;
  /** 1 if the line grows, else 0. A line that the GPUs could take at once does not grow. */
  grows: number;
}

export interface Study {
  outcomes: Record<PolicyName, Outcome>;
  /** The ratio of the others' p95 during an account's flood to that without it. */
  flood: number;
  /** The share of waiting jobs whose wait was within the forecast range, in percent. */
  within: number;
  claims: ClaimOutcome;
  /** The share of waiting jobs whose wait was half to twice the middle of the forecast range, in percent. */
  withinTwice: number;
}

/** The first part of a scene is not measured: everything is cold. */
const WARM_UP = 0.2;
/** A line grows if it is longer in this last part than ever in the first half. */
const END = 0.2;

export function study(scene: Scene): Study {
  const trace = traceOf(scene);
  const outcome = (policy: PolicyName) =>
    outcomeOf(trace, simulate(trace, POLICIES[policy](trace)));
  const { course, told } = simulateTold(trace);
  const waited = afterWarmUp(trace, course.fates).flatMap((fate) => {
    const range = told.get(fate.job);
    return range ? [{ range, wait_ms: fate.wait_ms }] : [];
  });
  const percent = (is: (wait_ms: number, range: Range) => boolean) =>
    (100 * waited.filter(({ range, wait_ms }) => is(wait_ms, range)).length) / waited.length;
  return {
    outcomes: {
      auspex: outcomeOf(trace, course),
      perfect: outcome("perfect"),
      "warm-first": outcome("warm-first"),
      fifo: outcome("fifo"),
    },
    flood: floodRatio(scene, course),
    claims: claimOutcome(trace),
    within: percent((wait, { p10_ms, p90_ms }) => wait >= p10_ms && wait <= p90_ms),
    withinTwice: percent((wait, { p50_ms }) => wait >= p50_ms / 2 && wait <= p50_ms * 2),
  };
}

/** Simulates a trace in which each waiting job gets a forecast when it comes. */
function simulateTold(trace: readonly SimulatedJob[]) {
  const rules = POLICIES.auspex(trace);
  const told = new Map<SimulatedJob, Range>();
  const course = simulate(trace, rules, {
    seen: (job, now) => {
      const range = explain(rules.state, job.ask.id, now)?.range ?? "unknown";
      if (range !== "unknown") told.set(job, range);
    },
  });
  return { course, told };
}

function outcomeOf(trace: readonly SimulatedJob[], { fates, waiting }: Course): Outcome {
  const measured = afterWarmUp(trace, fates);
  const end = mean(waiting.slice(Math.floor(waiting.length * (1 - END))));
  const before = Math.max(...waiting.slice(0, waiting.length / 2));
  return {
    cold: measured.filter(({ cold }) => cold).length,
    p95_ms: p95(measured),
    grows: end > GPUS && end > before ? 1 : 0,
  };
}

function afterWarmUp(trace: readonly SimulatedJob[], fates: readonly Fate[]): Fate[] {
  const from = trace[Math.floor(trace.length * WARM_UP)]?.ask.at ?? 0;
  return fates.filter(({ job }) => job.ask.at >= from);
}

/** Returns the ratio of the waits of jobs that come during the flood to those without it. */
function floodRatio(scene: Scene, calm: Course): number {
  const trace = traceOf({ ...scene, flood: true });
  const flooded = simulate(trace, POLICIES.auspex(trace));
  const floods = trace.filter(isFlood).map(({ ask }) => ask.at);
  const [from, to] = [Math.min(...floods), Math.max(...floods)];
  const others = ({ fates }: Course) =>
    fates.filter(({ job }) => !isFlood(job) && job.ask.at >= from && job.ask.at <= to);
  return p95(others(flooded)) / p95(others(calm));
}

/** Models of the trace that have a claim, each on one container: few ask for them, so that others evict them. */
const CLAIMED = ["model-3", "model-10", "model-20"];

interface ClaimOutcome {
  /** Cold starts of the claimed models, but for their warm-ups. */
  cold: number;
  /** The ratio of the others' p95 to that on a fleet without the claimed GPUs. */
  others: number;
}

function claimOutcome(trace: readonly SimulatedJob[]): ClaimOutcome {
  const isClaimed = ({ ask }: SimulatedJob) => CLAIMED.includes(ask.key);
  const claims = CLAIMED.map((key) => {
    return { account: "claims", hardware: HARDWARE, key, gpus: 1, min: 1, max: 1 };
  });
  const claimed = simulate(trace, POLICIES.auspex(trace), { claims });
  const rest = trace.filter((job) => !isClaimed(job));
  const without = simulate(rest, POLICIES.auspex(rest), { gpus: [3, 3, 3] });
  const others = claimed.fates.filter(({ job }) => !isClaimed(job));
  return {
    cold: claimed.fates.filter(({ job, cold }) => cold && isClaimed(job)).length,
    others: p95(afterWarmUp(trace, others)) / p95(afterWarmUp(trace, without.fates)),
  };
}

const isFlood = ({ ask }: SimulatedJob): boolean => ask.account === FLOODER;

const p95 = (fates: readonly Fate[]): number =>
  quantile(
    fates.map(({ wait_ms }) => wait_ms),
    0.95,
  );
