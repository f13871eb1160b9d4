/** Random numbers that depend only on a seed. */

export interface Random {
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
