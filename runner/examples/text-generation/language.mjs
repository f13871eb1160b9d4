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

  /** Continues the tokens `before`, endlessly. */
  *write(before, temperature, random) {
    let last = before.slice(-2);
    while (true) {
      const token = choose(this.#odds(last), temperature, random);
      yield token;
      last = [...last, token].slice(-2);
    }
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

/** Random numbers from 0 to 1 that depend only on the seed (mulberry32). */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Yields at most `max` tokens, up to `stop`. Text that may begin `stop` is held back. */
export function* until(stop, tokens, max) {
  let held = "";
  let count = 0;
  for (const token of tokens) {
    held += token;
    const end = stop === undefined ? -1 : held.indexOf(stop);
    if (end >= 0) {
      if (end > 0) yield held.slice(0, end);
      return;
    }
    let keep = Math.min(held.length, (stop?.length ?? 1) - 1);
    while (keep > 0 && !stop.startsWith(held.slice(-keep))) keep--;
    if (keep < held.length) yield held.slice(0, held.length - keep);
    held = held.slice(held.length - keep);
    if (++count === max) break;
  }
  if (held) yield held;
}
