/** Which characters one place of a pattern takes, as far as it has to be known whether two share one. */

export interface CharacterSet {
  /** A bit for each character of ASCII. */
  ascii: bigint;
  /** Whether it may take any other. */
  beyond: boolean;
}

export const NONE: CharacterSet = { ascii: 0n, beyond: false };

/** Negations, properties, spaces, and whatever is written by its number. */
const BEYOND = /[^\0-\x7f]|^\.|^\[\^|\\[DPSWpsux]/;

const ASCII = String.fromCharCode(...Array(128).keys());

/** @param source one character, class or escape of a valid pattern */
export function charactersOf(source: string): CharacterSet {
  let ascii = 0n;
  for (const { index } of ASCII.matchAll(new RegExp(source, "gu"))) ascii |= 1n << BigInt(index);
  return { ascii, beyond: BEYOND.test(source) };
}

export const overlap = (a: CharacterSet, b: CharacterSet): boolean =>
  (a.ascii & b.ascii) !== 0n || (a.beyond && b.beyond);

export const union = (a: CharacterSet, b: CharacterSet): CharacterSet => ({
  ascii: a.ascii | b.ascii,
  beyond: a.beyond || b.beyond,
});
