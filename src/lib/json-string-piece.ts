/** A part of the JSON text of a string, as it lies in a file: cut so that no character is torn. */

/** Of an escape at the end that goes on in the next part: `\`, `\u00e`. */
const TORN = /((?:^|[^\\])(?:\\\\)*)(\\(?:u[\dA-Fa-f]{0,3})?)$/;
/** The first half of a pair, whose second is not here. */
const TORN_PAIR = /((?:^|[^\\])(?:\\\\)*)(\\u[dD][89abAB][\dA-Fa-f]{2})$/;

export interface StringPiece {
  text: string;
  /** Bytes that it takes: the next part begins behind them. */
  size: number;
}

/** @param bytes without the quotation mark at the beginning @param isLast whether they end with the other */
export function stringPiece(bytes: Uint8Array, isLast: boolean): StringPiece {
  // A mark of the order of bytes is a character of the text, and counts.
  const json = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(
    isLast ? bytes.subarray(0, -1) : bytes,
    {
      stream: !isLast,
    },
  );
  if (isLast) return { text: JSON.parse(`"${json}"`), size: bytes.length };
  const whole = json.replace(TORN, "$1").replace(TORN_PAIR, "$1");
  return { text: JSON.parse(`"${whole}"`), size: new TextEncoder().encode(whole).length };
}
