/**
 * The jobs of a scene: 50 models, asked for by Zipf's law, by 20 accounts. The times of a run and a setup are
 * fixed beforehand, so that all rules get the same work.
 */
import type { Ask } from "../../src/domain/scheduling/decide/types.ts";

export const GPUS = 12;
export const HARDWARE = "l40s";
const MODELS = 50;
const ACCOUNTS = 20;
const JOBS = 2_000;
const RUN_MS = 10_000;
/** Jobs of a burst, and the time between them. */
const BURST = 4;
const BURST_GAP_MS = 1_000;
export const FLOODER = "account-0";
/** The share of the GPUs that the flood alone would take, without its setups. */
const FLOOD_LOAD = 1;
const FLOOD_JOBS = 2_000;

export interface Scene {
  /** The share of the GPUs' time that the runs take. */
  load: number;
  arrivals: "poisson" | "bursts";
  /** The ratio of a setup's time to a run's. */
  setup: number;
  seed: number;
  /** Whether an account asks for 2,000 jobs from a quarter of the time on, faster than they can run. */
  flood: boolean;
}

export interface SimulatedJob {
  ask: Ask;
  run_ms: number;
  /** The time of the container's setup if the job needs one. */
  setup_ms: number;
}

interface Model {
  key: string;
  run_ms: number;
  setup_ms: number;
}

export function traceOf({ load, arrivals, setup, seed, flood }: Scene): SimulatedJob[] {
  const random = randomOf(seed);
  const models = modelsOf(random, setup);
  const weights = models.map((_, rank) => 1 / (rank + 1));
  const total = weights.reduce((sum, one) => sum + one, 0);
  const meanRun = models.reduce(
    (sum, { run_ms }, n) => sum + (run_ms * (weights[n] ?? 0)) / total,
    0,
  );
  const gap = meanRun / GPUS / load;
  const jobs: SimulatedJob[] = [];
  const add = (at: number, model: Model, account: string) =>
    jobs.push(jobOf(random, `${account}.${jobs.length}`, at, model, account));
  const pick = (): Model => {
    const model = models[random.weighted(weights)];
    if (!model) throw new Error("no model");
    return model;
  };

  let at = 0;
  while (jobs.length < JOBS) {
    const size = arrivals === "bursts" ? random.geometric(BURST) : 1;
    at += random.exponential(gap * (arrivals === "bursts" ? BURST : 1));
    const model = pick();
    const account = `account-${1 + Math.floor(random.uniform() * (ACCOUNTS - 1))}`;
    for (let n = 0, then = at; n < size; n += 1, then += random.exponential(BURST_GAP_MS))
      add(then, model, account);
  }
  if (flood) {
    // The flood comes after the other jobs, with a gap of its own, so that these are the same without it.
    const floodGap = meanRun / GPUS / FLOOD_LOAD;
    for (let n = 0, then = at / 4; n < FLOOD_JOBS; n += 1, then += random.exponential(floodGap))
      add(then, pick(), FLOODER);
  }
  return jobs.toSorted((a, b) => a.ask.at - b.ask.at);
}

/**
 * Models' runs differ by a factor of up to four; so do their setups, which are proportional to their runs.
 */
function modelsOf(random: Random, setup: number): Model[] {
  return Array.from({ length: MODELS }, (_, n) => {
    const run_ms = RUN_MS * 4 ** (random.uniform() - 0.5);
    return { key: `model-${n}`, run_ms, setup_ms: run_ms * setup * random.lognormal(0.2) };
  });
}

function jobOf(
  random: Random,
  id: string,
  at: number,
  { key, run_ms, setup_ms }: Model,
  account: string,
): SimulatedJob {
  return {
    ask: {
      id,
      account,
      priority: "normal",
      hardware: HARDWARE,
      gpus: 1,
      key,
      image: key,
      max_concurrency: 1,
      run_limit_ms: 1_800_000,
      at,
    },
    run_ms: run_ms * random.lognormal(0.25),
    setup_ms: setup_ms * random.lognormal(0.15),
  };
}

interface Random {
  /** Returns a uniform number, from 0 to just below 1. */
  uniform(): number;
  exponential(mean: number): number;
  /** @param sigma of the number's logarithm; the median is 1 */
  lognormal(sigma: number): number;
  /** Returns a number of a geometric distribution from 1 on. */
  geometric(mean: number): number;
  /** Returns an index, with a probability proportional to its weight. */
  weighted(weights: readonly number[]): number;
}

export function randomOf(seed: number): Random {
  // The generator is Mulberry32, whose state is one number.
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const exponential = (mean: number) => -mean * Math.log(1 - uniform());
  return {
    uniform,
    exponential,
    lognormal: (sigma) =>
      Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform())),
    geometric: (mean) => 1 + Math.floor(Math.log(1 - uniform()) / Math.log(1 - 1 / mean)),
    weighted(weights) {
      let left = uniform() * weights.reduce((sum, one) => sum + one, 0);
      return weights.findIndex((weight) => {
        left -= weight;
        return left < 0;
      });
    },
  };
}
