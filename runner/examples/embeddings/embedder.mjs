// Embeds texts as vectors of length 1. Texts with similar words and meanings are close.

import { Meanings } from "./meanings.mjs";
import { add, addDirection, DIMENSIONS, unit, zero } from "./vectors.mjs";
import { gramsOf, isCommon, wordsOf } from "./words.mjs";

/** The weight of meaning against spelling: spelling is certain, meaning is learned from a small text. */
const MEANING = 1.5;
const COMMON_WEIGHT = 0.1;
/** The size of the cache of words. */
const REMEMBERED = 20_000;

export class Embedder {
  #meanings = new Meanings();
  /** @type {Map<string, Float64Array>} */
  #words = new Map();

  learn(text) {
    this.#meanings.learn(text);
    return this.#meanings.size;
  }

  /** @returns {{ vector: Float64Array, tokens: number }} truncated to `dimensions` */
  embed(text, dimensions = DIMENSIONS) {
    const words = wordsOf(text);
    const sum = zero();
    for (const word of words) add(sum, this.#word(word), isCommon(word) ? COMMON_WEIGHT : 1);
    // The first dimensions are a random projection too, only coarser.
    return { vector: unit(sum.subarray(0, dimensions)), tokens: words.length };
  }

  #word(word) {
    const known = this.#words.get(word);
    if (known) return known;
    const form = zero();
    for (const gram of gramsOf(word)) addDirection(form, `piece ${gram}`, 1);
    const vector = unit(form);
    if (!isCommon(word)) add(vector, this.#meanings.of(word), MEANING);
    if (this.#words.size >= REMEMBERED) this.#words.clear();
    this.#words.set(word, vector);
    return vector;
  }
}
