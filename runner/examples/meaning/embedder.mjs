// Texts as vectors of length 1, whose neighbours are texts of like words and like meanings.

import { Meanings } from "./meanings.mjs";
import { add, addDirection, DIMENSIONS, unit, zero } from "./vectors.mjs";
import { gramsOf, isCommon, wordsOf } from "./words.mjs";

/** How much meaning counts beside form: spelling is certain, and meaning a guess from a small text. */
const MEANING = 1.5;
/** Of a word that any text has. */
const COMMON_WEIGHT = 0.1;
/** Words that are remembered; then they are worked out anew. */
const REMEMBERED = 20_000;

export class Embedder {
  #meanings = new Meanings();
  /** @type {Map<string, Float64Array>} */
  #words = new Map();

  learn(text) {
    this.#meanings.learn(text);
    return this.#meanings.size;
  }

  /** @returns {{ vector: Float64Array, tokens: number }} cut to its first `dimensions` */
  embed(text, dimensions = DIMENSIONS) {
    const words = wordsOf(text);
    const sum = zero();
    for (const word of words) add(sum, this.#word(word), isCommon(word) ? COMMON_WEIGHT : 1);
    // Its first dimensions are a random projection as well, only coarser.
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
