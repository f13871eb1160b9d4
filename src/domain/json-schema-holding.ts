/** Holding inputs against a schema that is in shape: what needs no zod, and so can be in a browser. */
import {
  dereference,
  format,
  type Schema,
  type ValidationResult,
  validate,
} from "@cfworker/json-schema";
import type { Json } from "../protocol/common.ts";
import type { Part } from "./json-schema-shape.ts";

/** A schema made ready to hold inputs against. */
export interface Prepared {
  schema: Schema | boolean;
  /** All of its parts, by absolute address: where a `$ref` leads. */
  lookup: ReturnType<typeof dereference>;
  meter: Meter;
  /** What else strings are held against, by the name of a format. */
  formats: Record<string, (text: string) => boolean>;
}

/** The validator would try patterns with an engine that may take for ever; formats it asks us. */
const OF_PATTERN = "pattern:";

export const formatOfPattern = (pattern: string) => OF_PATTERN + pattern;

export const isFormatOfPattern = (name: string) => name.startsWith(OF_PATTERN);

/** undefined for an ordinary format. */
export const patternOfFormat = (name: unknown): string | undefined =>
  typeof name === "string" && isFormatOfPattern(name) ? name.slice(OF_PATTERN.length) : undefined;

/**
 * @param schema as schemaShape has left it, and nobody else's: its parts are marked
 * @param finish has a last look at each part
 * @throws Error for a reference that leads to nothing
 */
export function readied(
  schema: Part,
  formats: Prepared["formats"] = {},
  finish: (part: Schema) => void = () => {},
): Prepared {
  const lookup = dereference(schema);
  const meter = new Meter();
  for (const [place, part] of Object.entries(lookup)) {
    if (typeof part === "boolean") continue;
    const target = part.__absolute_ref__ ?? part.$ref;
    if (target !== undefined && !(target in lookup)) {
      throw new Error(`${fragmentOf(place)}: $ref '${part.$ref}' leads to nothing in this schema`);
    }
    finish(part);
    meter.watch(part);
  }
  return { schema, lookup, meter, formats };
}

/** @throws RangeError, TooCostly, and what the validator throws for what it cannot work with */
export function attempt(
  { schema, lookup, meter, formats }: Prepared,
  input: Json,
): ValidationResult {
  const run = (firstOnly: boolean) => {
    meter.reset();
    return validate(input, schema, "2020-12", lookup, firstOnly);
  };
  Object.assign(format, formats);
  try {
    return run(false);
  } catch (error) {
    // Also from more mistakes than a call can have arguments (some 100,000): then the first of each list.
    if (error instanceof RangeError) return run(true);
    throw error;
  } finally {
    for (const name in formats) delete format[name];
  }
}

/** 0.3 s at most. A list of 90,000 numbers stays below it. */
const MAX_VISITS = 100_000;

export class TooCostly extends Error {}

/**
 * Bounds the work of one validation: `allOf` of two references, twenty levels of it, are a million
 * visits to one part. The validator has no hook, but at each visit it reads all keywords that it
 * knows, `$recursiveRef` once; that is of 2019-09 alone, so that here it can stand for the count.
 */
class Meter {
  #left = MAX_VISITS;

  reset(): void {
    this.#left = MAX_VISITS;
  }

  watch(part: Schema): void {
    const cost = costOf(part);
    Object.defineProperty(part, "$recursiveRef", {
      configurable: true,
      get: () => {
        this.#left -= cost;
        if (this.#left >= 0) return;
        throw new TooCostly(`it takes more than ${MAX_VISITS} steps to hold an input against it`);
      },
    });
  }
}

/** A visit to a part; one with long lists counts for more, since its errors repeat them. */
function costOf({ enum: values, const: value, required, properties }: Schema): number {
  const listed = JSON.stringify([values, value, required, Object.keys(properties ?? {})]);
  return 1 + Math.floor(listed.length / 100);
}

export const messageOf = (error: unknown) =>
  error instanceof Error ? error.message : String(error);

const fragmentOf = (place: string) => `#${place.split("#")[1] ?? ""}`;
