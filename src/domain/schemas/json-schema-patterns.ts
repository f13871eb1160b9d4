/** Matches a schema's patterns with our linear-time engine instead of the validator's. For one input. */
import type { Schema } from "@cfworker/json-schema";
import type { Json } from "../../protocol/common.ts";
import type { PreparedSchema } from "./json-schema-validator.ts";
import { formatToPattern } from "./pattern-format.ts";
import { PatternMatcher } from "./pattern-matcher.ts";

export class Patterns {
  /** Patterns are disguised as formats (pattern-format.ts). */
  readonly formats: PreparedSchema["formats"] = {};
  readonly #matcher = new PatternMatcher();
  readonly #input: Json;
  #names: Set<string> | undefined;

  constructor(input: Json) {
    this.#input = input;
  }

  /** @throws TooCostly */
  apply(part: Schema): void {
    const { format, patternProperties } = part;
    const pattern = formatToPattern(format);
    if (format !== undefined && pattern !== undefined)
      this.formats[format] = (text) => this.#matcher.matches(pattern, text);
    if (patternProperties !== undefined) this.#expand(part, patternProperties);
  }

  /** Replaces the patterns with the names in the input that match them. */
  #expand(part: Schema, patternProperties: Record<string, Schema | boolean>): void {
    const properties = new Map(Object.entries(part.properties ?? {}));
    this.#names ??= namesIn(this.#input);
    for (const [pattern, below] of Object.entries(patternProperties)) {
      for (const name of this.#names) {
        if (!this.#matcher.matches(pattern, name)) continue;
        const own = properties.get(name);
        properties.set(name, own === undefined ? below : both(own, below));
      }
    }
    part.properties = Object.fromEntries(properties);
    delete part.patternProperties;
  }
}

const both = (...parts: (Schema | boolean)[]): Schema => ({
  allOf: parts.map((part) => (typeof part === "boolean" ? ofBoolean(part) : part)),
});

const ofBoolean = (all: boolean): Schema => (all ? {} : { not: {} });

/** Property names anywhere in the input. */
function namesIn(input: Json): Set<string> {
  const names = new Set<string>();
  const rest = [input];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (!Array.isArray(value)) for (const name of Object.keys(value)) names.add(name);
    for (const below of Object.values(value)) rest.push(below);
  }
  return names;
}
