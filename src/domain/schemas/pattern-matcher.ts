/** Matches patterns with a linear-time engine, within a total number of steps. */
import { RE2JS } from "re2js";
import { TooCostly } from "./json-schema-validator.ts";
import { toRe2 } from "./pattern.ts";

/** 0.5 s in the worst case of 50 ns each; usually a tenth of that. */
const MAX_STEPS = 10_000_000;

/** Steps after which the engine's caches are dropped: they reach 30 MB in the worst case. */
const CACHED_STEPS = 100_000;

const COMPILE_STEPS = 1_000;

interface Compiled {
  engine: RE2JS;
  weight: number;
}

export class PatternMatcher {
  readonly #compiled = new Map<string, Compiled>();
  #steps = 0;
  #droppedAt = 0;

  /**
   * @param pattern one that `toRe2` can translate
   * @throws TooCostly
   */
  matches(pattern: string, text: string): boolean {
    if (this.#steps - this.#droppedAt > CACHED_STEPS) {
      this.#compiled.clear();
      this.#droppedAt = this.#steps;
    }
    const { engine, weight } = this.#compile(pattern);
    this.#count(weight * (text.length + 1));
    return engine.test(text);
  }

  #compile(pattern: string): Compiled {
    const known = this.#compiled.get(pattern);
    if (known) return known;
    const translated = toRe2(pattern);
    if (!translated) throw new Error(`not supported by RE2: ${pattern}`);
    const { source, weight } = translated;
    this.#count(COMPILE_STEPS + weight);
    const compiled = { engine: RE2JS.compile(source), weight };
    this.#compiled.set(pattern, compiled);
    return compiled;
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS)
      throw new TooCostly(`its patterns take more than ${MAX_STEPS} steps`);
  }
}
