// A word-level four-gram language model with interpolated Kneser-Ney smoothing.

/** The n of the n-grams: the predicted word and the three before it. */
const ORDER = 4;
/**
 * The discount of each count in favour of unseen words. Textbooks use 0.75, which predicts other texts
 * best; a lower value stays closer to this short text and so writes better.
 */
const DISCOUNT = 0.3;

export const PARAGRAPH = "\n\n";

const WORD_OR_MARK = /\n\n|\s?[\p{L}\p{N}]+(?:[’'-][\p{L}\p{N}]+)*|\s?[^\s\p{L}\p{N}]|\s/gu;

/** Words, punctuation and paragraph breaks, each with its leading space: joined, they give the text. */
export function tokenize(text) {
  return text.match(WORD_OR_MARK) ?? [];
}

/** A word for lookup: case and leading space do not matter. */
export function plain(token) {
  return token === PARAGRAPH ? token : token.trim().toLowerCase().replaceAll("’", "'");
}

/** Numbers tokens, so that probabilities fit into one array. */
export class Vocabulary {
  /** @type {string[]} */
  tokens;
  #ids;
  /** The number of each token's plain word; contexts consist of these numbers. */
  #words;
  #wordIds;

  /** @param {Vocabulary} [base] its initial tokens */
  constructor(base) {
    this.tokens = [...(base?.tokens ?? [])];
    this.#ids = new Map(base?.#ids);
    this.#words = [...(base?.#words ?? [])];
    this.#wordIds = new Map(base?.#wordIds);
  }

  get size() {
    return this.tokens.length;
  }

  /** Returns the token's number; a new token gets one. */
  id(token) {
    const known = this.#ids.get(token);
    if (known !== undefined) return known;
    const word = plain(token);
    if (!this.#wordIds.has(word)) this.#wordIds.set(word, this.#wordIds.size);
    this.#words.push(this.#wordIds.get(word));
    this.#ids.set(token, this.tokens.length);
    return this.tokens.push(token) - 1;
  }

  /** The `length` tokens before `end` as a key. */
  context(ids, end, length) {
    let key = "";
    for (let index = end - length; index < end; index++) key += `${this.#words[ids[index]]} `;
    return key;
  }
}

export class Ngrams {
  #vocabulary;
  /** @type {Map<string, { total: number, counts: Map<number, number> }>} followers of a context */
  #followers = new Map();

  constructor(vocabulary) {
    this.#vocabulary = vocabulary;
  }

  get size() {
    return this.#followers.size;
  }

  /**
   * Counts each token after its longest context, and after a shorter one only if it is new after the
   * longer. So a short context counts in how many contexts a word occurs, not how often.
   */
  learn(ids, from = 0, to = ids.length) {
    for (let index = from; index < Math.min(to, ids.length); index++) {
      for (let length = Math.min(ORDER - 1, index); length >= 0; length--) {
        const key = this.#vocabulary.context(ids, index, length);
        const found = this.#followers.get(key) ?? { total: 0, counts: new Map() };
        this.#followers.set(key, found);
        const count = found.counts.get(ids[index]) ?? 0;
        found.counts.set(ids[index], count + 1);
        found.total++;
        if (count > 0) break;
      }
    }
  }

  /** The probability of each of `size` tokens after a context. They add up to 1, and none is 0. */
  odds(ids, size = this.#vocabulary.size) {
    const odds = new Float64Array(size).fill(1 / size);
    for (let length = 0; length < ORDER && length <= ids.length; length++) {
      const found = this.#followers.get(this.#vocabulary.context(ids, ids.length, length));
      if (!found) break;
      const { total, counts } = found;
      const left = (DISCOUNT * counts.size) / total;
      for (let id = 0; id < size; id++) odds[id] *= left;
      for (const [id, count] of counts) odds[id] += (count - DISCOUNT) / total;
    }
    return odds;
  }
}
