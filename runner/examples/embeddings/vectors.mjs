// Vectors: a random direction for each name, and sums of them.

export const DIMENSIONS = 384;

export const zero = () => new Float64Array(DIMENSIONS);

export function add(sum, vector, weight) {
  for (let index = 0; index < DIMENSIONS; index++) sum[index] += weight * vector[index];
}

/** Scales to length 1; the zero vector stays. */
export function unit(vector) {
  let squares = 0;
  for (const part of vector) squares += part * part;
  return squares > 0 ? vector.map((part) => part / Math.sqrt(squares)) : vector;
}

/**
 * Adds the direction of a name with length `weight`. A name always has the same direction, nearly
 * orthogonal to all others, so that many fit into few dimensions (a random projection).
 */
export function addDirection(sum, name, weight) {
  let state = hash(name);
  const part = weight / Math.sqrt(DIMENSIONS);
  for (let index = 0; index < DIMENSIONS; ) {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    bits ^= bits >>> 14;
    // Each random number has 32 signs.
    for (let bit = 0; bit < 32; bit++, index++) sum[index] += (bits >>> bit) & 1 ? part : -part;
  }
}

/** FNV-1a, 32 bits. */
function hash(name) {
  let state = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) {
    state = Math.imul(state ^ name.charCodeAt(index), 0x01000193);
  }
  return state >>> 0;
}
