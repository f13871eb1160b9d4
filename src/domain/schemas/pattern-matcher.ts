/** Tries patterns on texts: with an engine that takes linear time, and in so many steps altogether. */
import { RE2JS } from "re2js";
import { TooCostly } from "./json-schema-validator.ts";
import { toRe2 } from "./pattern.ts";

/** 0.5 s where each takes 50 ns, the worst case; mostly it is a tenth of that. */
const MAX_STEPS = 10_000_000;

/** After so many what the engine has remembered is forgotten: 30 MB in the worst case. */
const REMEMBERED_STEPS = 100_000;

const COMPILE_STEPS = 1_000;

interface Compiled {
  engine: RE2JS;
  weight: number;
}

export class PatternMatcher {
  readonly #compiled = new Map<string, Compiled>();
  #steps = 0;
  #forgotten = 0;

  /**
   * @param pattern one that is `linear`
   * @throws TooCostly
   */
  fits(pattern: string, text: string): boolean {
    if (this.#steps - this.#forgotten > REMEMBERED_STEPS) {
      this.#compiled.clear();
      this.#forgotten = this.#steps;
    }
    const { engine, weight } = this.#compile(pattern);
    this.#count(weight * (text.length + 1));
    return engine.test(text);
  }

  #compile(pattern: string): Compiled {
    const known = this.#compiled.get(pattern);
    if (known) return known;
    const found = toRe2(pattern);
    if (!found) throw new Error(`not linear: ${pattern}`);
    const { source, weight } = found;
    this.#count(COMPILE_STEPS + weight);
    const compiled = { engine: RE2JS.compile(source), weight };
    this.#compiled.set(pattern, compiled);
    return compiled;
  }

  #count(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS)
      throw new TooCostly(`it takes more than ${MAX_STEPS} steps to try its patterns`);
  }
}
