/**
 * Whether bytes are what JSON.stringify could have written, as far as it matters where they are copied
 * into other JSON, into a line or into an event: one line, brackets and strings that end where they
 * should, and nothing beside the value. What is wrong inside of it only spoils the value itself.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in one bit. */
const OPEN = 0x5b;
const CLOSE = 0x5d;
const BRACKET_BITS = 0xdf;
const SPACE = 0x20;

export class JsonValueCheck {
  #depth = 0;
  #inText = false;
  #escaped = false;
  #isEmpty = true;

  /** @returns whether it may go on like this; do not feed more after that */
  feed(bytes: Uint8Array): boolean {
    for (const byte of bytes) if (!this.#take(byte)) return false;
    return true;
  }

  /** Whether it may end here. */
  get complete(): boolean {
    return this.#depth === 0 && !this.#inText && !this.#isEmpty;
  }

  #take(byte: number): boolean {
    if (byte < SPACE) return false;
    this.#isEmpty = false;
    if (this.#inText) {
      if (this.#escaped) this.#escaped = false;
      else if (byte === BACKSLASH) this.#escaped = true;
      else if (byte === QUOTE) this.#inText = false;
      return true;
    }
    if (byte === QUOTE) this.#inText = true;
    else if ((byte & BRACKET_BITS) === OPEN) this.#depth += 1;
    else if ((byte & BRACKET_BITS) === CLOSE) this.#depth -= 1;
    else if (byte === COMMA || byte === COLON) return this.#depth > 0;
    return this.#depth >= 0;
  }
}
