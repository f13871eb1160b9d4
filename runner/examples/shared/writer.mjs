// Writes an answer in the words of a text. Passages related to the question count for more.

import { Ngrams, PARAGRAPH, tokenize, Vocabulary } from "./ngrams.mjs";
import { Passages } from "./passages.mjs";
import { choose, generator, highest } from "./sampling.mjs";
import { before } from "./stop.mjs";

/** The weight of the related passages against the whole text. */
const ATTENTION = 0.85;
const PASSAGES = 3;
/** Precedes an answer. It does not occur in the text, so the answer starts like a paragraph. */
const BEGINNING = [PARAGRAPH, PARAGRAPH];
/** An answer ends with a paragraph unless it is shorter than this, in tokens, and the passages are not. */
const SHORTEST = 20;
/** Training steps. The event loop runs between them, so that requests are answered. */
const PARTS = 8;

export class Writer {
  #vocabulary = new Vocabulary();
  #text = new Ngrams(this.#vocabulary);
  #passages = new Passages([]);

  /** Trains on a text, yielding to the event loop in between. */
  async train(text) {
    const tokens = tokenize(text.trim());
    const ids = [PARAGRAPH, ...tokens, PARAGRAPH].map((token) => this.#vocabulary.id(token));
    const size = Math.ceil(ids.length / PARTS);
    for (let from = 0; from < ids.length; from += size) {
      this.#text.learn(ids, from, from + size);
      await new Promise(setImmediate);
    }
    this.#passages = new Passages(tokens);
    return { tokens: tokens.length, contexts: this.#text.size };
  }

  /**
   * The answer's tokens, at most `max`, and why it ended. The same seed gives the same answer.
   * @param {{ role: string, text: string }[]} messages
   * @param {{ temperature: number, top_p: number, seed: number, stop: string[], max: number,
   *   top?: number }} options `top`: how many likely alternatives to return with each token
   * @returns {Generator<Token & { top: Token[] }, "stop" | "length">} Token: `text`, `logprob`
   */
  write(messages, options) {
    return before(options.stop, this.#tokens(messages, options));
  }

  *#tokens(messages, { max, top = 0, seed, ...sampling }) {
    const vocabulary = new Vocabulary(this.#vocabulary);
    const near = new Ngrams(vocabulary);
    const passages = this.#near(messages);
    for (const [rank, passage] of passages.entries()) {
      const ids = [...BEGINNING, ...passage, PARAGRAPH].map((token) => vocabulary.id(token));
      // The closest passage is trained on most often.
      for (let times = 3 ** (PASSAGES - 1 - rank); times > 0; times--)
        near.learn(ids, BEGINNING.length);
    }
    const shortest = Math.min(SHORTEST, ...passages.map(({ length }) => length));
    const random = generator(seed);
    const written = BEGINNING.map((token) => vocabulary.id(token));
    const said = (odds, id) => ({ text: vocabulary.tokens[id], logprob: Math.log(odds[id]) });
    for (let count = 0; count < max; count++) {
      const odds = this.#text.odds(written, vocabulary.size);
      if (near.size > 0) mix(odds, near.odds(written));
      const id = choose(odds, sampling, random);
      if (vocabulary.tokens[id] === PARAGRAPH && count >= shortest) return "stop";
      written.push(id);
      yield { ...said(odds, id), top: highest(odds, top).map((other) => said(odds, other)) };
    }
    return "length";
  }

  /** Tool results since the last question, or else the passages of the text about it. */
  #near(messages) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const tools = messages.slice(asked + 1).filter(({ role }) => role === "tool");
    const heard = tools.slice(-PASSAGES).map(({ text }) => tokenize(text.trim()));
    return heard.length > 0 ? heard : this.#passages.about(messages[asked]?.text ?? "", PASSAGES);
  }
}

export function countTokens(messages) {
  return messages.reduce((sum, { text }) => sum + tokenize(text).length, 0);
}

function mix(odds, near) {
  for (let id = 0; id < odds.length; id++) odds[id] += ATTENTION * (near[id] - odds[id]);
}
