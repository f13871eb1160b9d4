/** The next character that means something inside a string of JSON; the end of the text if there is none. */
export function nextMark(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.exec(text)?.index ?? text.length;
}

const MARK = /["\\]/g;

/** Where a string of JSON ends, behind its closing quote. @param from behind its opening quote */
export function stringEnd(text: string, from: number): number {
  let at = nextMark(text, from);
  while (text.charAt(at) === "\\") at = nextMark(text, at + 2);
  return at + 1;
}

/** Valid in strings of JSON, but some readers take them for the end of a line. */
const SEPARATORS = /[\u0085\u2028\u2029]/g;

/** What `JSON.stringify` has written, with the separators of lines escaped. */
export const withoutSeparators = (json: string): string =>
  json.replace(SEPARATORS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
