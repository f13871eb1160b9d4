// The meanings of words, learned from the words around them in a text (random indexing).

import { addDirection, unit, zero } from "./vectors.mjs";
import { gramsOf, isCommon, wordsOf } from "./words.mjs";

/** The weight of words in the same paragraph against words in the same sentence. */
const FAR = 0.3;
/** An unknown word gets the meaning of the known word that shares at least this part of its n-grams. */
const ALIKE = 0.35;

export class Meanings {
  /** @type {Map<string, Float64Array>} */
  #vectors = new Map();
  /** @type {Map<string, Set<string>>} the words that contain an n-gram */
  #having = new Map();

  get size() {
    return this.#vectors.size;
  }

  /** Learns from a text whose paragraphs are each about one topic. */
  learn(text) {
    const company = new Map();
    const totals = new Map();
    let all = 0;
    const meet = (one, other, weight) => {
      const met = company.get(one) ?? new Map();
      company.set(one, met.set(other, (met.get(other) ?? 0) + weight));
      totals.set(one, (totals.get(one) ?? 0) + weight);
      all += weight;
    };
    for (const paragraph of text.split("\n")) {
      const sentences = paragraph.split(/(?<=[.!?])\s/).map(contentOf);
      for (const [place, sentence] of sentences.entries()) {
        for (const one of sentence) {
          for (const [other, words] of sentences.entries()) {
            for (const word of words) meet(one, word, other === place ? 1 : FAR);
          }
        }
      }
    }
    for (const [word, met] of company) {
      const sum = zero();
      for (const [other, weight] of met) {
        // Pointwise mutual information: how much more often than by chance.
        const surprise = Math.log((weight * all) / (totals.get(word) * totals.get(other)));
        if (surprise > 0) addDirection(sum, `word ${other}`, surprise);
      }
      this.#vectors.set(word, unit(sum));
      for (const gram of gramsOf(word)) {
        this.#having.set(gram, (this.#having.get(gram) ?? new Set()).add(word));
      }
    }
  }

  /** Returns the vector of a word, of length 1; 0 if the word is unknown. */
  of(word) {
    return this.#vectors.get(word) ?? this.#guess(word);
  }

  #guess(word) {
    const grams = gramsOf(word);
    const shared = new Map();
    for (const gram of grams) {
      for (const known of this.#having.get(gram) ?? []) {
        shared.set(known, (shared.get(known) ?? 0) + 1);
      }
    }
    let best = 0;
    let vector = zero();
    for (const [known, count] of shared) {
      const alike = (2 * count) / (grams.length + gramsOf(known).length);
      if (alike < ALIKE || alike <= best) continue;
      best = alike;
      vector = this.#vectors.get(known);
    }
    return vector;
  }
}

const contentOf = (sentence) => wordsOf(sentence).filter((word) => word && !isCommon(word));
