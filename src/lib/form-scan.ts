/** A pass over a form while its bytes come in: that it has not more fields than so many. */

const AMPERSAND = 0x26;
const HYPHEN = 0x2d;
const LINE_FEED = 0x0a;

export class FormScan {
  #left: number;
  #before = 0;

  constructor(fields: number) {
    this.#left = fields;
  }

  /** Counts what parts fields, in either encoding: an ampersand, a line that begins with a hyphen. */
  feed(bytes: Uint8Array): boolean {
    let before = this.#before;
    for (const byte of bytes) {
      if (byte === AMPERSAND || (byte === HYPHEN && before === LINE_FEED)) this.#left -= 1;
      before = byte;
    }
    this.#before = before;
    return this.#left >= 0;
  }
}
