/** Validates inputs against a bounded schema. Without zod, so that it can run in a browser. */
import {
  dereference,
  format,
  type Schema,
  type ValidationResult,
  validate as validateSchema,
} from "@cfworker/json-schema";
import type { Json } from "../../protocol/common.ts";
import type { SchemaPart } from "./json-schema-shape.ts";
import { isPatternFormat } from "./pattern-format.ts";

/** A schema prepared for validation. */
export interface PreparedSchema {
  schema: Schema | boolean;
  /** All parts by absolute URI, to follow `$ref`. */
  lookup: ReturnType<typeof dereference>;
  meter: Meter;
  /** Additional formats by name. */
  formats: Record<string, (text: string) => boolean>;
}

/**
 * @param schema an output of `boundedSchema`, which is modified
 * @param finish called for each part
 * @throws Error for a reference that cannot be resolved
 */
export function prepareSchema(
  schema: SchemaPart,
  formats: PreparedSchema["formats"] = {},
  finish: (part: Schema) => void = () => {},
): PreparedSchema {
  const lookup = dereference(schema);
  const meter = new Meter();
  for (const [place, part] of Object.entries(lookup)) {
    if (typeof part === "boolean") continue;
    const target = part.__absolute_ref__ ?? part.$ref;
    if (target !== undefined && !(target in lookup)) {
      throw new Error(`${fragmentOf(place)}: $ref '${part.$ref}' does not exist in this schema`);
    }
    finish(part);
    meter.watch(part);
  }
  return { schema, lookup, meter, formats };
}

/** @throws RangeError, TooCostly, and the validator's own errors */
export function validate(
  { schema, lookup, meter, formats }: PreparedSchema,
  input: Json,
  maxVisits = MAX_VISITS,
): ValidationResult {
  const wrapped = meter.wrap(input);
  const run = (firstOnly: boolean) => {
    meter.reset(maxVisits);
    return validateSchema(wrapped, schema, "2020-12", lookup, firstOnly);
  };
  Object.assign(format, formats);
  try {
    return run(false);
  } catch (error) {
    // More than about 100,000 errors exceed the argument limit of a call: stop at the first of each list.
    if (error instanceof RangeError) return run(true);
    throw error;
  } finally {
    for (const name in formats) delete format[name];
  }
}

/** At most 0.3 s. A list of 90,000 numbers stays below it. */
const MAX_VISITS = 100_000;

/** Property names that cost as much as one visit: each visit lists all of them, some twice. */
const NAMES = 3;

/** Objects with fewer names are not counted. */
const WIDE = 100;

/** Characters that cost as much as one visit to count. */
const CHARS = 2_000;

export class TooCostly extends Error {}

/**
 * Limits the work of one validation: 20 levels of `allOf` with two references are a million visits to
 * one part. The validator has no hook, but each visit reads `$recursiveRef` exactly once. That keyword
 * exists only in draft 2019-09, so a getter for it can count visits. A visit also takes longer for
 * large values: 40 ms for 10 MB of text or property names.
 */
class Meter {
  #max = MAX_VISITS;
  #left = MAX_VISITS;
  /** The extra cost of a visit that measures a text, for the longest text in the input. */
  #lengthCost = 0;

  reset(max: number): void {
    this.#max = max;
    this.#left = max;
  }

  /** The input to validate, in which large objects count how often their names are listed. */
  wrap(input: Json): Json {
    this.#lengthCost = 0;
    return this.#counting(input);
  }

  watch(part: Schema): void {
    const cost = costOf(part);
    const { minLength, maxLength } = part;
    const measures = minLength !== undefined || maxLength !== undefined || isOfAnyLength(part);
    Object.defineProperty(part, "$recursiveRef", {
      configurable: true,
      get: () => this.#spend(measures ? cost + this.#lengthCost : cost),
    });
  }

  #counting(value: Json): Json {
    if (typeof value === "string")
      this.#lengthCost = Math.max(this.#lengthCost, Math.floor(value.length / CHARS));
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((item) => this.#counting(item));
    const entries = Object.entries(value).map(([name, item]) => [name, this.#counting(item)]);
    const copy: { [name: string]: Json } = Object.fromEntries(entries);
    if (entries.length < WIDE) return copy;
    return new Proxy(copy, {
      ownKeys: (target) => {
        this.#spend(entries.length / NAMES);
        return Reflect.ownKeys(target);
      },
    });
  }

  #spend(visits: number): undefined {
    this.#left -= visits;
    if (this.#left >= 0) return;
    throw new TooCostly(`validation takes more than ${this.#max} steps`);
  }
}

/** Whether its format is checked on texts of any length: patterns and URLs are only on short ones. */
const isOfAnyLength = ({ format: name }: Schema): boolean =>
  name !== undefined && name !== "uri" && !isPatternFormat(name);

/** The cost of a visit to a part. Long lists cost more, since errors repeat them. */
function costOf({ enum: values, const: value, required, properties }: Schema): number {
  const listed = JSON.stringify([values, value, required, Object.keys(properties ?? {})]);
  return 1 + Math.floor(listed.length / 100);
}

export const errorMessage = (error: unknown) =>
  error instanceof Error ? error.message : String(error);

const fragmentOf = (place: string) => `#${place.split("#")[1] ?? ""}`;
