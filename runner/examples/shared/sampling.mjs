// Samples a token: temperature, top_p and the seed.

/** Tokens of at least this weight (the best has 1) are sorted first for `top_p`; the rest only if needed. */
const LIKELY = 1e-3;

/**
 * A high temperature flattens the distribution, a low one sharpens it, and 0 leaves only the
 * likeliest token. Then the smallest set with a total probability of `top_p` is sampled from.
 * @param {Float64Array} odds @returns {number} an index
 */
export function choose(odds, { temperature, top_p }, random) {
  const [best] = highest(odds, 1);
  if (temperature === 0) return best;
  const weights = odds.map((odd) => (odd / odds[best]) ** (1 / temperature));
  const drawn = top_p < 1 ? nucleus(weights, top_p) : weights.keys();
  let left = random() * sum(top_p < 1 ? drawn.map((id) => weights[id]) : weights);
  for (const id of drawn) {
    left -= weights[id];
    if (left < 0) return id;
  }
  // Reached only through rounding.
  return best;
}

function nucleus(weights, top_p) {
  const wanted = top_p * sum(weights);
  for (const least of [LIKELY, 0]) {
    const ids = [...weights.keys()].filter((id) => weights[id] >= least);
    ids.sort((one, other) => weights[other] - weights[one] || one - other);
    let found = 0;
    for (const [place, id] of ids.entries()) {
      found += weights[id];
      if (found >= wanted) return ids.slice(0, place + 1);
    }
  }
  return [...weights.keys()];
}

function sum(weights) {
  let total = 0;
  for (const weight of weights) total += weight;
  return total;
}

/** The indexes of the `count` highest probabilities, best first. */
export function highest(odds, count) {
  const found = [];
  if (count === 0) return found;
  for (let id = 0; id < odds.length; id++) {
    if (found.length === count && odds[id] <= odds[found[count - 1]]) continue;
    const place = found.findIndex((other) => odds[id] > odds[other]);
    found.splice(place < 0 ? found.length : place, 0, id);
    if (found.length > count) found.pop();
  }
  return found;
}

/** Random numbers from 0 to 1 that depend only on the seed (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
