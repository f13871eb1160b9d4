/** Parts of an id that people have: its beginning, or its end as lists show it ("…3f6a1b2c4d5e"). */
import { firstIdAt } from "../../lib/hex.ts";

export interface IdPart {
  beginning?: string;
  ending?: string;
}

const LENGTH = 36;
const DASHES = [8, 13, 18, 23];
/** As many digits as tell the ids of an account apart: the end of an id is random, its beginning is not. */
export const LEAST_ENDING = 8;

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

/** Whether an id can have the part at this place. */
const fits = (part: string, place: number) =>
  [...part].every((char, n) => (char === "-") === DASHES.includes(place + n));
