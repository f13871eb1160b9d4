/**
 * Patterns of JSON Schemas (regular expressions of JavaScript with the flag `u`) as RE2 writes
 * them, which matches in linear time, and so has no look-around and no references back.
 */
import { tokenize, translateClass, translateToken, UnsupportedPattern } from "./pattern-token.ts";

export interface Re2Pattern {
  /** In the syntax of RE2. */
  source: string;
  /** About as many states as it has: what is repeated counts as often as that. */
  weight: number;
}

/** RE2 repeats nothing more often, repetitions in repetitions included. */
const MAX_WEIGHT = 1_000;

/** The engine has a limit of its own, which counts otherwise. */
const MAX_DEPTH = 50;

const MAX_LENGTH = 10_000;

/**
 * @param pattern valid in JavaScript
 * @returns undefined for what RE2 does not have, and what would be too large
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
    // Groups of other kinds look around, or change what letters mean.
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

/** What takes no character: how often, where, or this or that. */
const MARK = /^(?:[*+?|^$]|\\[bB])$/;

/** `{3}`, `{3,}` or `{3,5}`: how often what is before it will be written out. */
function timesOf(token: string): number {
  const [least = 0, most = 0] = token.match(/\d+/g)?.map(Number) ?? [];
  return Math.max(least + 1, most);
}

/** Adds up what a pattern will be once its repetitions are written out. */
class Weight {
  /** Those that are open; `last` is what a repetition would repeat. */
  readonly #groups = [{ sum: 1, last: 0 }];

  get total(): number {
    return this.#group.sum;
  }

  /** @param isMark takes no character, and cannot be repeated */
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
