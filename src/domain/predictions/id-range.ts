/** Ids of predictions rise with the time: a time, like the beginning of an id, is a range of them. */
import { firstIdAt } from "../../lib/hex.ts";

export interface IdRange {
  /** The first id that may be in the range, and the first that is beyond it. */
  from?: string;
  before?: string;
}

/** A character that sorts after each digit of an id. */
const BEYOND = "g";

/**
 * @param prefix the beginning of ids
 * @param after the earliest time, unix ms
 * @param before the first time that is too late
 */
export function idRange(prefix?: string, after?: number, before?: number): IdRange {
  const firsts = [prefix, after === undefined ? undefined : firstIdAt(after)];
  const ends = [prefix && prefix + BEYOND, before === undefined ? undefined : firstIdAt(before)];
  const from = firsts
    .filter((one) => one !== undefined)
    .sort()
    .at(-1);
  const end = ends.filter((one) => one !== undefined).sort()[0];
  return { ...(from !== undefined && { from }), ...(end !== undefined && { before: end }) };
}
