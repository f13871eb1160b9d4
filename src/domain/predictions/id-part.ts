/** What people have of an id: its beginning, or its end as lists show it ("…3f6a1b2c4d5e"). */
import { firstIdAt } from "../../lib/hex.ts";

export interface IdPart {
  beginning?: string;
  ending?: string;
}

const LENGTH = 36;
const DASHES = [8, 13, 18, 23];
/** As many as tell the ids of an account from each other: they are random, as the beginning is not. */
export const LEAST_ENDING = 8;

/**
 * Of nine digits or more the dashes tell which it is. Eight are a beginning if that can be one by now:
 * ids begin with their time.
 */
export function readIdPart(text: string, now: number): IdPart {
  const part = text.replace(/^(?:…|\.\.\.)/, "").toLowerCase();
  if (part !== text.toLowerCase()) return { ending: part };
  const isEnding = part.length >= LEAST_ENDING && fits(part, LENGTH - part.length);
  const isBeginning =
    part.length === LEAST_ENDING ? fits(part, 0) && part <= firstIdAt(now) : fits(part, 0);
  return isEnding && !isBeginning ? { ending: part } : { beginning: part };
}

/** Whether an id can have it at this place. */
const fits = (part: string, place: number) =>
  [...part].every((char, n) => (char === "-") === DASHES.includes(place + n));
