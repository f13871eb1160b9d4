/** Samples of an arbitrary that depend only on a seed. */
import fc from "fast-check";

export const samples = <Value>(arbitrary: fc.Arbitrary<Value>, seed: number, count: number) =>
  fc.sample(fc.noBias(arbitrary), { seed, numRuns: count });

/** A uniform number, from 0 to just below 1. */
export const share = fc.nat(2 ** 30 - 1).map((n) => n / 2 ** 30);

export const between = (min: number, max: number) => fc.integer({ min, max });

/** Returns the arbitrary once in `times` cases, and undefined otherwise. */
export const onceIn = <Value>(times: number, arbitrary: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 1, arbitrary }, { weight: times - 1, arbitrary: fc.constant(undefined) });
