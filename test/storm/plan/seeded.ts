/** Samples of an arbitrary that depend on a seed alone. */
import fc from "fast-check";

export const samples = <Value>(arbitrary: fc.Arbitrary<Value>, seed: number, count: number) =>
  fc.sample(fc.noBias(arbitrary), { seed, numRuns: count });

/** Uniform, from 0 to just below 1. */
export const share = fc.nat(2 ** 30 - 1).map((n) => n / 2 ** 30);

export const between = (min: number, max: number) => fc.integer({ min, max });

/** Either, the first of them once in so many. */
export const onceIn = <Value>(times: number, arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 1, arbitrary }, { weight: times - 1, arbitrary: fc.constant(undefined) });
