/**
 * Translates patterns of JSON Schemas (JavaScript regular expressions with the `u` flag) to RE2, which
 * matches in linear time but has no look-around and no back-references.
 */
import { tokenize, translateClass, translateToken, UnsupportedPattern } from "./pattern-token.ts";

export interface Re2Pattern {
  /** In RE2 syntax. */
  source: string;
  /** The approximate number of states, with repetitions expanded. */
  weight: number;
}

/** RE2's limit for repetitions, nested ones multiplied. */
const MAX_WEIGHT = 1_000;

/** The engine has its own limit, which counts differently. */
const MAX_DEPTH = 50;

const MAX_LENGTH = 10_000;

/**
 * @param pattern valid in JavaScript
 * @returns undefined for a pattern that RE2 does not support or that is too large
 */
export function toRe2(pattern: string): Re2Pattern | undefined {
  if (pattern.length > MAX_LENGTH) return undefined;
  try {
    return translated(pattern);
  } catch (error) {
    if (error instanceof UnsupportedPattern) return undefined;
    throw error;
  }
}

function translated(pattern: string): Re2Pattern {
  const weight = new Weight();
  const tokens = tokenize(pattern).values();
  let source = "";
  for (const token of tokens) {
    // Other kinds of groups are look-around or modifiers.
    if (token === "(?") throw new UnsupportedPattern();
    if (token.startsWith("(")) {
      weight.open();
      source += "(?:";
    } else if (token === ")") {
      weight.close();
      source += token;
    } else if (token.startsWith("{")) {
      weight.repeat(timesOf(token));
      source += token;
    } else if (MARK.test(token)) {
      weight.add(1, true);
      source += token;
    } else {
      const member = token === "[" ? translateClass(tokens) : translateToken(token);
      weight.add(member.weight);
      source += member.source;
    }
  }
  return { source, weight: weight.total };
}

/** Tokens that match no character: quantifiers, anchors, alternation. */
const MARK = /^(?:[*+?|^$]|\\[bB])$/;

/** How often `{3}`, `{3,}` or `{3,5}` expands what precedes it. */
function timesOf(token: string): number {
  const [least = 0, most = 0] = token.match(/\d+/g)?.map(Number) ?? [];
  return Math.max(least + 1, most);
}

/** The weight of a pattern with its repetitions expanded. */
class Weight {
  /** Open groups; `last` is the weight that a repetition would multiply. */
  readonly #groups = [{ sum: 1, last: 0 }];

  get total(): number {
    return this.#group.sum;
  }

  /** @param isMark matches no character and cannot be repeated */
  add(weight: number, isMark = false): void {
    const group = this.#group;
    group.sum += weight;
    if (!isMark) group.last = weight;
    if (group.sum > MAX_WEIGHT) throw new UnsupportedPattern();
  }

  repeat(times: number): void {
    const { last } = this.#group;
    this.add(last * (Math.max(times, 1) - 1), true);
  }

  open(): void {
    if (this.#groups.length > MAX_DEPTH) throw new UnsupportedPattern();
    this.#groups.push({ sum: 1, last: 0 });
  }

  close(): void {
    const { sum } = this.#group;
    this.#groups.pop();
    this.add(sum);
  }

  get #group() {
    const group = this.#groups.at(-1);
    if (!group) throw new UnsupportedPattern();
    return group;
  }
}
