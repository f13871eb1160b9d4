/** The ranges in which a large file is fetched. */

const MIB = 1024 * 1024;

/**
 * Bytes of a range. Each range costs a request, and an incomplete one is lost when the runner restarts. A
 * store gives 40 MiB/s on one connection, so that the largest range takes two seconds.
 */
const [MIN_RANGE, MAX_RANGE] = [8 * MIB, 64 * MIB];

/** A file of medium size is cut into as many, so that all connections have something to do. */
const RANGES = 32;

/** A range of bytes that includes both ends, as in HTTP. */
export interface ByteRange {
  first: number;
  last: number;
}

/** Bytes of each range of a file but the last. */
export function rangeBytes(size: number): number {
  const even = Math.ceil(size / RANGES / MIB) * MIB;
  return Math.min(Math.max(even, MIN_RANGE), MAX_RANGE);
}

export const rangeCount = (size: number, bytes: number): number => Math.ceil(size / bytes);

/** @param index from 0 */
export const rangeAt = (index: number, size: number, bytes: number): ByteRange => ({
  first: index * bytes,
  last: Math.min((index + 1) * bytes, size) - 1,
});

/** Returns the missing ranges in order, so that the file can be read from its beginning meanwhile. */
export const missingRanges = (size: number, bytes: number, come: ReadonlySet<number>): number[] =>
  Array.from({ length: rangeCount(size, bytes) }, (_, index) => index).filter(
    (index) => !come.has(index),
  );

/**
 * Returns the first range that has not come; `count` if all have.
 * @param from all ranges before it have come
 */
export function frontRange(count: number, come: ReadonlySet<number>, from = 0): number {
  let front = from;
  while (front < count && come.has(front)) front++;
  return front;
}
