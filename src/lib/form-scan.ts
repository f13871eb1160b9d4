/** Limits the number of fields of a form while its bytes arrive. */

const AMPERSAND = 0x26;
const HYPHEN = 0x2d;
const LINE_FEED = 0x0a;

export class FormScan {
  #left: number;
  #before = 0;

  constructor(fields: number) {
    this.#left = fields;
  }

  /**
   * Counts field separators of both encodings: `&`, and a line that starts with a hyphen.
   * @returns whether the form is still within the limit
   */
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
