/** How the bytes of an upload are cut into what R2 stores. */

const MIB = 1024 * 1024;

/**
 * R2 wants parts of one length, but for the last, and 10,000 at most: a blob has at most 78 GiB. A request
 * without a length holds one part in memory.
 */
export const PART_BYTES = 8 * MIB;
export const MAX_PARTS = 10_000;
export const MAX_BLOB_BYTES = PART_BYTES * MAX_PARTS;

/** R2 stores so much from one request: 5 GiB less 5 MiB. */
export const MAX_PUT_BYTES = 5 * 1024 * MIB - 5 * MIB;

/**
 * What clients that send chunks are told. Below 8 MiB each chunk is stored, and read again with the next. Cog
 * sends 64 KiB less than the maximum: 80 MiB, which fits the 100 MB of Cloudflare's smaller plans.
 */
export const MIN_CHUNK_BYTES = PART_BYTES;
export const MAX_CHUNK_BYTES = 80 * MIB + 64 * 1024;

export interface Piece {
  /** Bytes to take of what arrives. */
  take: number;
  /** Whether they fill a part, with what is there already. */
  fills: boolean;
}

/**
 * The next piece of what arrives.
 * @param rest bytes after the last whole part, which the piece goes on
 * @param left bytes that are still to come in this request
 */
export function nextPiece(rest: number, left: number): Piece {
  const missing = PART_BYTES - rest;
  return { take: Math.min(missing, left), fills: left >= missing };
}

/** A `Content-Range` of a chunk: `first-last`, as OCI has it, or as HTTP has it. Undefined: not one. */
export function parseContentRange(text: string): { first: number; length: number } | undefined {
  const [, first, last] = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const length = Number(last) - Number(first) + 1;
  return length > 0 ? { first: Number(first), length } : undefined;
}
