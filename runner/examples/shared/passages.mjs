// Finds the passages of a text that a question is about.

import { PARAGRAPH, plain, tokenize } from "./ngrams.mjs";

/** The length of a passage, in sentences. */
const LENGTH = 4;

/** Words that any question contains. */
const COMMON = new Set(
  "a about all am an and any are as at be been but by can could describe did do does explain for from give had has have hello hi how i if in is it its know let like make may me my no not of on or our out please say should so some speak talk tell than that the their them then there they thing think this to up us was we were what when where which who whom whose why will with would write you your".split(
    " ",
  ),
);

export class Passages {
  #tokens;
  /** @type {{ start: number, end: number, words: Set<string> }[]} `end`: of the passage */
  #sentences;
  /** @type {Map<string, number>} in how many sentences a word occurs */
  #spread = new Map();

  constructor(tokens) {
    this.#tokens = tokens;
    this.#sentences = sentenceStarts(tokens).map((start, index, starts) => {
      const words = stems(tokens.slice(start, starts[index + 1]));
      return { start, end: starts[index + LENGTH] ?? tokens.length, words };
    });
    for (const { words } of this.#sentences) {
      for (const word of words) this.#spread.set(word, (this.#spread.get(word) ?? 0) + 1);
    }
  }

  /** The tokens of the `count` passages that share most with the question. */
  about(question, count) {
    const asked = [...stems(tokenize(question))].filter((word) => this.#spread.has(word));
    return this.#sentences
      .map((sentence) => ({ ...sentence, score: this.#score(asked, sentence.words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score || one.start - other.start)
      .slice(0, count)
      .map(({ start, end }) => {
        const [first, ...others] = this.#tokens.slice(start, end);
        const tokens = [first.trimStart(), ...others];
        return tokens.at(-1) === PARAGRAPH ? tokens.slice(0, -1) : tokens;
      });
  }

  /** Rare words count for more than common ones, and long sentences match some by chance. */
  #score(asked, words) {
    const shared = asked.filter((word) => words.has(word));
    const rarity = (word) => Math.log(this.#sentences.length / this.#spread.get(word));
    return shared.reduce((sum, word) => sum + rarity(word), 0) / Math.sqrt(words.size + 10);
  }
}

/** A sentence starts after a full stop and closing marks. */
function sentenceStarts(tokens) {
  const starts = [];
  let ended = true;
  for (const [index, token] of tokens.entries()) {
    const mark = token.trim();
    if (token === PARAGRAPH || /^[.!?]/.test(mark)) ended = true;
    else if (ended && !/^[”’)]/.test(mark)) {
      if (/^[\p{Lu}“‘(]/u.test(mark)) starts.push(index);
      ended = false;
    }
  }
  return starts;
}

/** Words without inflection: cats and cat's become cat. */
function stems(tokens) {
  const words = tokens.map(plain).filter((word) => /[\p{L}\p{N}]/u.test(word) && !COMMON.has(word));
  return new Set(words.map((word) => word.replace(/(?<=\p{L}{3})(?:'s|ing|ed|s)$/u, "")));
}
