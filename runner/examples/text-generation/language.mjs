// A trigram language model: which word followed which two words, and how often.

const WORD_OR_MARK = /\n\n|\s?[\p{L}\p{N}]+(?:[’'-][\p{L}\p{N}]+)*|\s?[^\s\p{L}\p{N}]|\s/gu;

/** Words, punctuation and paragraph breaks, each with its leading space: joined, they give the text. */
export function tokenize(text) {
  return text.match(WORD_OR_MARK) ?? [];
}

/** The weight of the last two tokens against the last one alone: lower is more inventive. */
const TRUST = 0.75;

export class Language {
  /** @type {Map<string, Map<string, number>>} followers of a context, with counts */
  #followers = new Map();

  get size() {
    return this.#followers.size;
  }

  /** Trains on the tokens from index `from` to `to`, each with the two before it. */
  learn(tokens, from, to) {
    for (let index = from; index < to; index++) {
      for (const context of contexts(tokens.slice(Math.max(0, index - 2), index))) {
        const followers = this.#followers.get(context) ?? new Map();
        followers.set(tokens[index], (followers.get(tokens[index]) ?? 0) + 1);
        this.#followers.set(context, followers);
      }
    }
  }

  /** Yields up to `max` tokens that continue `context`. */
  *write(context, { temperature, random, max }) {
    let last = context.slice(-2);
    for (let count = 0; count < max; count++) {
      const text = choose(this.#odds(last), temperature, random);
      yield { text };
      last = [...last, text].slice(-2);
    }
    return "length";
  }

  /** The probability of each token after `last`. After an unknown context, as at a new paragraph. */
  #odds(last) {
    const known = contexts(last).flatMap((context) => this.#followers.get(context) ?? []);
    if (known.length === 0) return shares(this.#followers.get(PARAGRAPH), 1, new Map());
    const [one, two] = known;
    const odds = shares(one, two ? 1 - TRUST : 1, new Map());
    return two ? shares(two, TRUST, odds) : odds;
  }
}

const PARAGRAPH = key(["\n\n"]);

/** Returns the last token and the last two as keys: case and leading space do not matter. */
function contexts(last) {
  return [last.slice(-1), last.slice(-2)].filter((part, i) => part.length === i + 1).map(key);
}

function key(tokens) {
  return tokens.map((token) => (token === "\n\n" ? token : token.trim().toLowerCase())).join(" ");
}

function shares(followers, weight, odds) {
  let total = 0;
  for (const count of followers.values()) total += count;
  for (const [token, count] of followers) {
    odds.set(token, (odds.get(token) ?? 0) + (weight * count) / total);
  }
  return odds;
}

/** A high temperature flattens the distribution, a low one sharpens it; 0 picks the likeliest. */
function choose(odds, temperature, random) {
  const best = Math.max(...odds.values());
  const weights = new Map();
  let total = 0;
  for (const [token, odd] of odds) {
    if (temperature === 0 && odd === best) return token;
    const weight = (odd / best) ** (1 / temperature);
    weights.set(token, weight);
    total += weight;
  }
  let left = random() * total;
  for (const [token, weight] of weights) {
    left -= weight;
    if (left < 0) return token;
  }
  return odds.keys().next().value;
}
