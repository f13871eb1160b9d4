/**
 * Ids of predictions: UUIDv7, which sort by when they were made. The last 8 of their random bits (120 to
 * 127, the last two hex digits) are reserved for a shard of the account, always 0 today: an account that
 * outgrows one object can be spread over several later, and no row has to be moved. 66 random bits are
 * left, and 32 of those count up within a millisecond.
 */
import { v7 as uuid } from "uuid";
import { firstIdAt } from "../../lib/hex.ts";

const SHARD = "00";

export const newPredictionUuid = (): string => uuid().slice(0, -SHARD.length) + SHARD;

/** Parts of an id that people have: its beginning, or its end as lists show it ("…3f6a1b2c4d5e"). */

interface IdPart {
  beginning?: string;
  ending?: string;
}

const LENGTH = 36;
const DASHES = [8, 13, 18, 23];
/** As many digits as tell the ids of an account apart: the end of an id is random, its beginning is not. */
const LEAST_ENDING = 8;

/**
 * Returns the part of an id that the text is. Dashes tell the part of nine digits or more. Eight digits are a
 * beginning if an id can begin with them by now: ids begin with their time.
 */
export function readIdPart(text: string, now: number): IdPart {
  const part = text.replace(/^(?:…|\.\.\.)/, "").toLowerCase();
  if (part !== text.toLowerCase()) return { ending: part };
  const isEnding = part.length >= LEAST_ENDING && fits(part, LENGTH - part.length);
  const isBeginning =
    part.length === LEAST_ENDING ? fits(part, 0) && part <= firstIdAt(now) : fits(part, 0);
  return isEnding && !isBeginning ? { ending: part } : { beginning: part };
}

const fits = (part: string, place: number) =>
  [...part].every((char, n) => (char === "-") === DASHES.includes(place + n));

/** Ids of predictions rise with the time: a time, like the beginning of an id, is a range of them. */

export interface IdRange {
  /** The first id that may be in the range, and the first that is beyond it. */
  from?: string;
  before?: string;
}

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
