/** Codes that people copy from a terminal into a browser. */

/** Consonants only: no code is a word, and none has letters that look like digits. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
/** 20^8 codes, of which each is valid for 10 minutes, and few can be tried in a minute. */
const LENGTH = 8;
/** The largest multiple of the number of letters in a byte: larger bytes would favour some letters. */
const EVEN = 240;

export function newUserCode(): string {
  let code = "";
  while (code.length < LENGTH)
    for (const byte of crypto.getRandomValues(new Uint8Array(LENGTH)))
      if (byte < EVEN && code.length < LENGTH) code += LETTERS[byte % LETTERS.length];
  return code;
}

/** Returns the code as it is shown: `BCDF-GHJK`. */
export const shownUserCode = (code: string): string =>
  `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;

/** Returns the code of a text that a person has typed, in any case, with anything between its letters. */
export const typedUserCode = (text: string): string => text.toUpperCase().replace(/[^A-Z]/g, "");
