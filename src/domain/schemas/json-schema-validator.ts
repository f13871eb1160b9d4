/** Holding inputs against a schema that is in shape: what needs no zod, and so can be in a browser. */
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

/** A schema made ready to hold inputs against. */
export interface PreparedSchema {
  schema: Schema | boolean;
  /** All of its parts, by absolute address: where a `$ref` leads. */
  lookup: ReturnType<typeof dereference>;
  meter: Meter;
  /** What else strings are held against, by the name of a format. */
  formats: Record<string, (text: string) => boolean>;
}

/**
 * @param schema as schemaShape has left it, and nobody else's: its parts are marked
 * @param finish has a last look at each part
 * @throws Error for a reference that leads to nothing
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
      throw new Error(`${fragmentOf(place)}: $ref '${part.$ref}' leads to nothing in this schema`);
    }
    finish(part);
    meter.watch(part);
  }
  return { schema, lookup, meter, formats };
}

/** @throws RangeError, TooCostly, and what the validator throws for what it cannot work with */
export function validate(
  { schema, lookup, meter, formats }: PreparedSchema,
  input: Json,
): ValidationResult {
  const held = meter.held(input);
  const run = (firstOnly: boolean) => {
    meter.reset();
    return validateSchema(held, schema, "2020-12", lookup, firstOnly);
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

/** Names of an object that are listed in the time of a visit: each visit lists all, some twice. */
const NAMES = 3;

/** Objects with fewer names take no time worth counting. */
const WIDE = 100;

/** Characters of a text that are counted, one by one, in the time of a visit. */
const CHARS = 2_000;

export class TooCostly extends Error {}

/**
 * Bounds the work of one validation: `allOf` of two references, twenty levels of it, are a million
 * visits to one part. The validator has no hook, but at each visit it reads all keywords that it
 * knows, `$recursiveRef` once; that is of 2019-09 alone, so that here it can stand for the count.
 * And a visit takes as long as what is visited is large: 40 ms for 10 MB of text, or of names.
 */
class Meter {
  #left = MAX_VISITS;
  /** What each visit costs more where the length of a text is asked for, by the longest there is. */
  #lengthCost = 0;

  reset(): void {
    this.#left = MAX_VISITS;
  }

  /** The input as the validator is to be given it: objects count how often their names are listed. */
  held(input: Json): Json {
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
    throw new TooCostly(`it takes more than ${MAX_VISITS} steps to hold an input against it`);
  }
}

/** Whether it tries a format on texts of any length: patterns and addresses only on short ones. */
const isOfAnyLength = ({ format: name }: Schema): boolean =>
  name !== undefined && name !== "uri" && !isPatternFormat(name);

/** A visit to a part; one with long lists counts for more, since its errors repeat them. */
function costOf({ enum: values, const: value, required, properties }: Schema): number {
  const listed = JSON.stringify([values, value, required, Object.keys(properties ?? {})]);
  return 1 + Math.floor(listed.length / 100);
}

export const errorMessage = (error: unknown) =>
  error instanceof Error ? error.message : String(error);

const fragmentOf = (place: string) => `#${place.split("#")[1] ?? ""}`;
