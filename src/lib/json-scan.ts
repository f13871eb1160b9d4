/**
 * A pass over JSON while its bytes come in, before anything parses them: how deep it is nested, and
 * how many values it has. JSON.parse makes 430 MB of 10 MB of brackets, in 15 s.
 */

export interface JsonBounds {
  /** Lists and objects, one in the other. */
  depth: number;
  /** All of them, and each text, number, boolean and null; names are none. */
  values: number;
}

const ORDINARY = 0;
const SPACE = 1;
const QUOTE = 2;
const OPEN = 3;
const CLOSE = 4;
const COMMA = 5;

/** What a byte means outside of a text. */
const KINDS = new Uint8Array(256);
for (const [kind, characters] of [
  [SPACE, " \t\n\r"],
  [QUOTE, '"'],
  [OPEN, "[{"],
  [CLOSE, "]}"],
  [COMMA, ","],
] as const)
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;

const QUOTE_BYTE = 0x22;
const BACKSLASH = 0x5c;

/** Of what is no JSON it tells no less than a parser would have made of it before it noticed. */
export class JsonScan {
  readonly #bounds: JsonBounds;
  #depth = 0;
  #values = 1;
  #inText = false;
  /** Bytes of an escape that are still to come. */
  #skipped = 0;
  /** Behind a bracket: whether anything is in there is not known yet. */
  #opened = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  get values(): number {
    return this.#values;
  }

  /** @returns which bound is passed with these bytes; then it is not to be gone on with */
  feed(bytes: Uint8Array): keyof JsonBounds | undefined {
    let at = this.#inText ? this.#text(bytes, 0) : 0;
    while (at < bytes.length) {
      const kind = KINDS[bytes[at] ?? 0];
      at += 1;
      if (kind === SPACE) continue;
      if (this.#opened) {
        this.#opened = false;
        if (kind !== CLOSE) this.#values += 1;
      }
      if (kind === ORDINARY) continue;
      if (kind === QUOTE) at = this.#text(bytes, at);
      else if (kind === COMMA) this.#values += 1;
      else if (kind === CLOSE) this.#depth -= 1;
      else {
        this.#opened = true;
        this.#depth += 1;
        if (this.#depth > this.#bounds.depth) return "depth";
      }
      if (this.#values > this.#bounds.values) return "values";
    }
    return undefined;
  }

  /** @returns where the text has ended, or the end of these bytes */
  #text(bytes: Uint8Array, from: number): number {
    let at = from + this.#skipped;
    while (at < bytes.length) {
      const byte = bytes[at];
      if (byte === QUOTE_BYTE) {
        this.#inText = false;
        this.#skipped = 0;
        return at + 1;
      }
      at += byte === BACKSLASH ? 2 : 1;
    }
    this.#inText = true;
    this.#skipped = at - bytes.length;
    return bytes.length;
  }
}

const encoder = new TextEncoder();

/** As of one that is there whole. */
export const passedBound = (text: string, bounds: JsonBounds): keyof JsonBounds | undefined =>
  // Most are short, and there are many: events of a stream, frames of a channel.
  text.length <= bounds.depth && text.length <= bounds.values
    ? undefined
    : new JsonScan(bounds).feed(encoder.encode(text));
