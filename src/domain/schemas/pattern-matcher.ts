/** Matches patterns of JSON Schemas with RE2, whose time is linear in the text. */
import { RE2JS, RE2JSException } from "re2js";
import type { Meter } from "./json-schema-meter.ts";

/** Steps after which the compiled patterns are dropped: their caches reach 30 MB in the worst case. */
const CACHED_STEPS = 100_000;

const STEPS_OF_COMPILATION = 1_000;

/** The steps for each instruction that `sizeOf` expects. */
const STEPS_OF_INSTRUCTION = 10;

/** The limit of `sizeOf`. */
const MAX_SIZE = 5_000;

const MAX_LENGTH = 10_000;

/** The size of a property, which has up to 650 ranges. */
const PROPERTY_SIZE = 40;

/** The pieces of a pattern: an escape, a class, a counted repetition, or one other character. */
const PIECES = /\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** Pieces that RE2 reads differently: empty classes, and in its classes `[:alpha:]`. */
const DIFFERENT = /^(?:\.|\\s|\[\^?\]|\\p\{C\}|\[(?:\\.|[^\\])*(?:\\s|\\p\{C\}|\[:).*)$/isu;

export class PatternMatcher {
  readonly #engines = new Map<string, RE2JS | undefined>();
  readonly #meter: Meter;
  #droppedAt = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /**
   * @param pattern valid in JavaScript with the flag `u`
   * @returns undefined for a pattern that is left to the container
   * @throws TooCostly
   */
  matches(pattern: string, text: string): boolean | undefined {
    if (this.#meter.steps - this.#droppedAt > CACHED_STEPS) {
      this.#engines.clear();
      this.#droppedAt = this.#meter.steps;
    }
    const engine = this.#engines.has(pattern) ? this.#engines.get(pattern) : this.#compile(pattern);
    // Each character may visit every instruction of the program.
    this.#meter.spend((engine?.programSize() ?? 1) * (text.length + 1));
    return engine?.test(text);
  }

  #compile(pattern: string): RE2JS | undefined {
    this.#meter.spend(STEPS_OF_COMPILATION + pattern.length);
    const size = sizeOf(pattern);
    if (size !== undefined) this.#meter.spend(STEPS_OF_INSTRUCTION * size);
    const engine = size === undefined ? undefined : compiled(pattern);
    this.#engines.set(pattern, engine);
    return engine;
  }
}

function compiled(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

/**
 * @returns how many instructions the pattern has at most once RE2 has written its repetitions out; undefined if
 * they are too many, or if RE2 reads the pattern differently than JavaScript
 */
function sizeOf(pattern: string): number | undefined {
  if (pattern.length > MAX_LENGTH) return undefined;
  const groups: number[] = [];
  let [size, last] = [0, 0];
  for (const [piece, least, most] of pattern.matchAll(PIECES)) {
    if (DIFFERENT.test(piece)) return undefined;
    if (piece === "(") {
      groups.push(size);
      size = 0;
      continue;
    }
    if (piece === ")") {
      last = size;
      size += groups.pop() ?? 0;
    } else if (least !== undefined) {
      size += last * Math.max(Number(least), Number(most ?? 0));
    } else {
      last = piece.length + PROPERTY_SIZE * (piece.match(/\\p/gi)?.length ?? 0);
      size += last;
    }
    if (size > MAX_SIZE) return undefined;
  }
  return size;
}
