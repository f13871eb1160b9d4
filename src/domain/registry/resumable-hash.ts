/**
 * A SHA-256 whose state can be stored between two requests, which is not possible with the runtime's own. It
 * hashes 130 MB/s on a machine where the runtime's does 1,600. Uploads that come in one request with their
 * length do not use it.
 */
import { SHA256 } from "@stablelib/sha256";
import { bytesOfHex, hex } from "../../lib/hex.ts";

/** The parts of a state in hex: 8 words, the number of bytes, and the rest of a block of 64. */
const WORDS = 8;
const WORD_HEX = 8;
const COUNT_HEX = 14;

export class ResumableHash {
  readonly #hash = new SHA256();

  /** @param state an earlier result of `state()`; without one the hash begins */
  constructor(state = "") {
    if (state === "") return;
    const words = state.slice(0, WORDS * WORD_HEX).match(/.{8}/g) ?? [];
    const count = state.slice(WORDS * WORD_HEX, WORDS * WORD_HEX + COUNT_HEX);
    const rest = bytesOfHex(state.slice(WORDS * WORD_HEX + COUNT_HEX));
    const buffer = new Uint8Array(128);
    buffer.set(rest);
    this.#hash.restoreState({
      state: Int32Array.from(words, (word) => Number.parseInt(word, 16)),
      buffer,
      bufferLength: rest.length,
      bytesHashed: Number.parseInt(count, 16),
    });
  }

  update(bytes: Uint8Array): void {
    this.#hash.update(bytes);
  }

  /** Returns the state from which a later hash continues: up to 204 characters. */
  state(): string {
    const { state, buffer, bufferLength, bytesHashed } = this.#hash.saveState();
    const words = Array.from(state, (word) => (word >>> 0).toString(16).padStart(WORD_HEX, "0"));
    const rest = hex(Uint8Array.from(buffer?.subarray(0, bufferLength) ?? []).buffer);
    return `${words.join("")}${bytesHashed.toString(16).padStart(COUNT_HEX, "0")}${rest}`;
  }

  /** @returns `sha256:` and 64 hex digits */
  digest(): string {
    return `sha256:${hex(Uint8Array.from(this.#hash.digest()).buffer)}`;
  }
}
