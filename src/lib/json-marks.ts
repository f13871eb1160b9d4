/** The next character that means something inside a string of JSON; the end of the text if there is none. */
export function nextMark(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.exec(text)?.index ?? text.length;
}

const MARK = /["\\]/g;
