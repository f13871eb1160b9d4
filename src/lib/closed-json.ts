/** The beginning of a JSON text, cut behind the last list or object that is whole in a list, and closed there. */
import { stringEnd } from "./json-marks.ts";

const BRACKET = /["[\]{}]/g;

/** @returns JSON text; undefined if nothing in a list is whole */
export function closedJson(text: string): string | undefined {
  let end = 0;
  walk(text, (open, at) => {
    if (open.at(-1) === "]") end = at;
  });
  if (end === 0) return undefined;
  const whole = text.slice(0, end);
  return (
    whole +
    walk(whole, () => {})
      .toReversed()
      .join("")
  );
}

/**
 * @param onClosed called with what is open behind a list or object, and where that is
 * @returns what is open at the end: the brackets that would close it, the outermost first
 */
function walk(text: string, onClosed: (open: string[], at: number) => void): string[] {
  const open: string[] = [];
  for (let at = 0; at < text.length; ) {
    BRACKET.lastIndex = at;
    const found = BRACKET.exec(text);
    if (!found) break;
    const [mark] = found;
    at = found.index + 1;
    if (mark === '"') at = stringEnd(text, at);
    else if (mark === "[" || mark === "{") open.push(mark === "[" ? "]" : "}");
    else {
      open.pop();
      onClosed(open, at);
    }
  }
  return open;
}
