/**
 * Checks that bytes are UTF-8 while they pass. They may be those of one part of a file whose parts arrive in
 * any order: a character may begin in one part and end in the next.
 */
import { bytesOfHex, hex } from "./hex.ts";

/** A character has at most three bytes after its first. */
const MAX_REST = 3;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class Utf8Check {
  /** The bytes that continue a character of the part before. */
  readonly #first: number[] = [];
  /** The beginning of a character that is not complete yet. */
  #last = new Uint8Array();
  #isAtStart = true;
  #isValid = true;

  add(bytes: Uint8Array): void {
    let from = 0;
    while (this.#isAtStart && from < bytes.length) {
      const byte = bytes[from] ?? 0;
      this.#isAtStart = isContinuation(byte) && this.#first.length < MAX_REST;
      if (this.#isAtStart) this.#first.push(byte);
      if (this.#isAtStart) from += 1;
    }
    if (!this.#isValid || from === bytes.length) return;
    const rest = bytes.subarray(from);
    const all = this.#last.length === 0 ? rest : joined(this.#last, rest);
    const end = endOfWhole(all);
    this.#last = all.slice(end);
    this.#isValid = isUtf8(all.subarray(0, end));
  }

  /** The incomplete characters at both ends, in hexadecimal; undefined if what is between them is not UTF-8. */
  get edges(): string | undefined {
    return this.#isValid ? hex(joined(Uint8Array.from(this.#first), this.#last)) : undefined;
  }
}

/** @param edges of all parts of a file, in order */
export const areUtf8Parts = (edges: (string | null | undefined)[]): boolean =>
  edges.every((one) => typeof one === "string") && isUtf8(bytesOfHex(edges.join("")));

export function isUtf8(bytes: Uint8Array): boolean {
  try {
    decoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Returns the end of the last complete character. */
function endOfWhole(bytes: Uint8Array): number {
  for (let back = 1; back <= MAX_REST; back++) {
    const byte = bytes.at(-back) ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
