/** Matches patterns with a linear-time engine. */
import { RE2JS } from "re2js";
import type { Meter } from "./json-schema-meter.ts";
import { toRe2 } from "./pattern.ts";

/** Steps after which the engine's caches are dropped: they reach 30 MB in the worst case. */
const CACHED_STEPS = 100_000;

const STEPS_OF_COMPILATION = 1_000;

/** For each state that `toRe2` expects. */
const STEPS_OF_STATE = 10;

export class PatternMatcher {
  readonly #engines = new Map<string, RE2JS | undefined>();
  readonly #meter: Meter;
  #droppedAt = 0;

  constructor(meter: Meter) {
    this.#meter = meter;
  }

  /**
   * @returns undefined for a pattern that the engine does not support
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
    const translated = toRe2(pattern);
    this.#meter.spend(STEPS_OF_COMPILATION + pattern.length);
    if (translated) this.#meter.spend(STEPS_OF_STATE * translated.weight);
    const engine = translated && RE2JS.compile(translated.source);
    this.#engines.set(pattern, engine);
    return engine;
  }
}
