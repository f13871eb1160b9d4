/**
 * Whether bytes are what JSON.stringify could have written, as far as it matters where they are copied
 * into other JSON, into a line or into an event: one line, brackets and strings that end where they
 * should, and nothing beside the value. What is wrong inside of it only spoils the value itself.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** `[` and `{` differ in one bit. */
const OPEN = 0x5b;
const BRACKET_BITS = 0xdf;
const SPACE = 0x20;

const PLAIN = 0;
const WRONG = 1;
const MARK = 2;

/** Every byte outside of a string that has a meaning is a mark. */
const OUTSIDE = new Uint8Array(256);
const INSIDE = new Uint8Array(256);
for (const kinds of [OUTSIDE, INSIDE]) kinds.fill(WRONG, 0, SPACE);
for (const mark of '"[]{},:') OUTSIDE[mark.charCodeAt(0)] = MARK;
for (const mark of '"\\') INSIDE[mark.charCodeAt(0)] = MARK;

export class JsonValueCheck {
  #depth = 0;
  #inText = false;
  /** Whether the next byte belongs to an escape. */
  #escaped = false;
  #isEmpty = true;

  /** @returns whether the bytes are valid so far; do not feed more if not */
  feed(bytes: Uint8Array): boolean {
    // The state is in local variables: 16 MB then take a fifth of the time that fields would.
    let depth = this.#depth;
    let inText = this.#inText;
    let kinds = inText ? INSIDE : OUTSIDE;
    let at = 0;
    if (this.#escaped && bytes.length > 0) {
      if (kinds[bytes[0] ?? 0] === WRONG) return false;
      at = 1;
      this.#escaped = false;
    }
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      const kind = kinds[byte];
      if (kind === PLAIN) continue;
      if (kind === WRONG) return false;
      if (byte === BACKSLASH && inText) {
        at += 1;
        if (at === bytes.length) this.#escaped = true;
        else if (kinds[bytes[at] ?? 0] === WRONG) return false;
      } else if (byte === QUOTE) {
        inText = !inText;
        kinds = inText ? INSIDE : OUTSIDE;
      } else if (byte === COMMA || byte === COLON) {
        if (depth === 0) return false;
      } else {
        depth += (byte & BRACKET_BITS) === OPEN ? 1 : -1;
        if (depth < 0) return false;
      }
    }
    this.#depth = depth;
    this.#inText = inText;
    this.#isEmpty &&= bytes.length === 0;
    return true;
  }

  get complete(): boolean {
    return this.#depth === 0 && !this.#inText && !this.#isEmpty;
  }
}
