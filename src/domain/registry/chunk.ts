/** Splits the bytes of an upload into pieces that R2 stores. */

const MIB = 1024 * 1024;

/**
 * The bytes of a part. R2 requires parts of one length, except for the last, and 10,000 at most: a blob has
 * at most 78 GiB. A request without a length holds one part in memory.
 */
export const PART_BYTES = 8 * MIB;
export const MAX_PARTS = 10_000;
export const MAX_BLOB_BYTES = PART_BYTES * MAX_PARTS;

/** The most bytes that R2 stores from one request: 5 GiB less 5 MiB. */
export const MAX_PUT_BYTES = 5 * 1024 * MIB - 5 * MIB;

/**
 * The sizes of chunks that clients are asked for. Below 8 MiB each chunk is stored, and read again with the
 * next. Cog sends 64 KiB less than the maximum: 80 MiB, which fits the 100 MB of Cloudflare's smaller plans.
 */
export const MIN_CHUNK_BYTES = PART_BYTES;
export const MAX_CHUNK_BYTES = 80 * MIB + 64 * 1024;

export interface Piece {
  take: number;
  /** Whether the bytes fill a part, together with the rest that is stored already. */
  fills: boolean;
}

/**
 * Returns the next piece.
 * @param rest bytes after the last whole part, which the piece continues
 * @param left bytes that are still to come in this request
 */
export function nextPiece(rest: number, left: number): Piece {
  const missing = PART_BYTES - rest;
  return { take: Math.min(missing, left), fills: left >= missing };
}

/** Parses the `Content-Range` of a chunk: `first-last`, as OCI or as HTTP has it. */
export function parseContentRange(text: string): { first: number; length: number } | undefined {
  const [, first, last] = /^(?:bytes[ =])?(\d{1,15})-(\d{1,15})(?:\/(?:\d+|\*))?$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const length = Number(last) - Number(first) + 1;
  return length > 0 ? { first: Number(first), length } : undefined;
}
