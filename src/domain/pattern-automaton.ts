/** A regular expression as an automaton whose states are the characters of the pattern (Glushkov's). */
import { type CharacterSet, charactersOf, NONE } from "./pattern-characters.ts";

export interface State {
  characters: CharacterSet;
  /** What may come next: once for each way there. */
  next: number[];
  /** The outermost loop that it is in. */
  loop: number | undefined;
  /** A state before the first character of a part that is looked at, and not taken. */
  isLook: boolean;
}

/** The pattern refers back, repeats what may be nothing, or is too large to be looked through. */
export class Unreadable extends Error {}

const MAX_STATES = 500;
const MAX_TERMS = 5_000;
const MAX_DEPTH = 100;

/** Of a part that is repeated so often exactly; beyond that it is a loop. */
const MAX_COPIES = 16;

/** How a part of a pattern is entered and left. */
interface Part {
  isNullable: boolean;
  first: number[];
  last: number[];
}

const NOTHING: Part = { isNullable: true, first: [], last: [] };

// With the flag `y` they stand where reading goes on.
const UNREADABLE = /\\[1-9k]|\(\?[a-z-]+[:)]/y;
const LOOK = /\(\?<?[=!]/y;
const GROUP = /\((?:\?(?::|<[^>]+>))?/y;
const ASSERTION = /[$^]|\\[Bb]/y;
const CHARACTER =
  /\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|x..|c.|[Pp]\{[^}]*\}|.)|[^()|]/suy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y;

/** Reads a pattern that is valid with the flag `u` alone. */
export class Automaton {
  /** The first one stands before the pattern's first character. */
  readonly states: State[] = [];
  /** Whether it is tried at the beginning of a text alone. */
  readonly isAnchored: boolean;
  readonly #text: string;
  #at = 0;
  #loops = 0;
  #terms = 0;

  /** @throws Unreadable */
  constructor(text: string) {
    this.#text = text;
    const start = this.#add(NONE);
    const { part, branches } = this.#choice(0);
    this.#connect([start], part.first);
    this.isAnchored = text.startsWith("^") && branches === 1;
  }

  #choice(depth: number): { part: Part; branches: number } {
    if (depth > MAX_DEPTH) throw new Unreadable();
    let part = this.#sequence(depth);
    let branches = 1;
    for (; this.#take(/\|/y); branches++) part = either(part, this.#sequence(depth));
    return { part, branches };
  }

  #sequence(depth: number): Part {
    let whole = NOTHING;
    while (this.#at < this.#text.length && !/[)|]/.test(this.#text.charAt(this.#at)))
      whole = this.#joined(whole, this.#repeated(depth));
    return whole;
  }

  #repeated(depth: number): Part {
    const begin = this.#at;
    const from = this.states.length;
    const once = this.#term(depth);
    const [, sign, least, comma, most] = this.#take(QUANTIFIER) ?? [];
    if (sign === undefined && least === undefined) return once;
    const min = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
    const bound = comma === undefined ? min : most ? Number(most) : Number.POSITIVE_INFINITY;
    const max = sign === undefined ? bound : sign === "?" ? 1 : Number.POSITIVE_INFINITY;
    if (max <= 1) return min === 0 ? { ...once, isNullable: true } : once;
    if (min === max && max <= MAX_COPIES) return this.#copied(once, { begin, times: max, depth });
    if (once.isNullable) throw new Unreadable();
    this.#connect(once.last, once.first);
    const loop = this.#loops++;
    for (const state of this.states.slice(from)) {
      if (state.isLook) throw new Unreadable();
      state.loop = loop;
    }
    return min === 0 ? { ...once, isNullable: true } : once;
  }

  /** Each copy is read anew, and so has states of its own. */
  #copied(once: Part, { begin, times, depth }: { begin: number; times: number; depth: number }) {
    const end = this.#at;
    let whole = once;
    for (let n = 1; n < times; n++) {
      this.#at = begin;
      whole = this.#joined(whole, this.#term(depth));
    }
    this.#at = end;
    return whole;
  }

  #term(depth: number): Part {
    if (++this.#terms > MAX_TERMS || this.#take(UNREADABLE)) throw new Unreadable();
    if (this.#take(ASSERTION)) return NOTHING;
    const isLook = this.#take(LOOK) !== undefined;
    if (isLook || this.#take(GROUP)) {
      const { part } = this.#choice(depth + 1);
      this.#take(/\)/y);
      if (!isLook) return part;
      this.#connect([this.#add(NONE, true)], part.first);
      return NOTHING;
    }
    const [source] = this.#take(CHARACTER) ?? [];
    if (source === undefined) throw new Unreadable();
    const state = this.#add(charactersOf(source));
    return { isNullable: false, first: [state], last: [state] };
  }

  #joined(a: Part, b: Part): Part {
    this.#connect(a.last, b.first);
    return {
      isNullable: a.isNullable && b.isNullable,
      first: a.isNullable ? [...a.first, ...b.first] : a.first,
      last: b.isNullable ? [...a.last, ...b.last] : b.last,
    };
  }

  #connect(from: number[], to: number[]): void {
    for (const n of from) this.states[n]?.next.push(...to);
  }

  #add(characters: CharacterSet, isLook = false): number {
    if (this.states.length === MAX_STATES) throw new Unreadable();
    return this.states.push({ characters, next: [], loop: undefined, isLook }) - 1;
  }

  #take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }
}

const either = (a: Part, b: Part): Part => ({
  isNullable: a.isNullable || b.isNullable,
  first: [...a.first, ...b.first],
  last: [...a.last, ...b.last],
});
