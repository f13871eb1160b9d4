/** Resolves references and unions in a JSON Schema for display. Validation does not use this. */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { resolvePointer } from "./json-pointer.ts";

export type Keywords = { [keyword: string]: Json };

/**
 * The keywords, names and values to read at most: a schema can refer to itself, double at each level, or
 * merge a thousand references to an object of a thousand names. They take about 50 ms.
 */
const MAX_READ = 50_000;
const MAX_DEPTH = 32;

const shared = new WeakMap<object, SchemaResolver>();

export class SchemaResolver {
  readonly #root: Json;
  #left = MAX_READ;
  readonly #read = new WeakMap<object, Keywords>();

  /** Returns the resolver of a schema, which all callers share, so that each part is read once. */
  static of(root: Json): SchemaResolver {
    if (!isObject(root)) return new SchemaResolver(root);
    const known = shared.get(root) ?? new SchemaResolver(root);
    shared.set(root, known);
    return known;
  }

  constructor(root: Json) {
    this.#root = root;
  }

  /** Resolves a part: its own keywords override those it refers to. Empty unless it is an object. */
  resolve(part: Json | undefined): Keywords {
    if (!isObject(part)) return {};
    const known = this.#read.get(part) ?? this.#resolve(part, 0);
    this.#read.set(part, known);
    return known;
  }

  #resolve(part: Json | undefined, depth: number): Keywords {
    if (!isObject(part) || depth > MAX_DEPTH || this.#left <= 0) return {};
    this.#left -= 1 + Object.keys(part).length;
    const { $ref, allOf, anyOf, oneOf, ...own } = part;
    const each = (parts: Json[]) => parts.map((one) => this.#resolve(one, depth + 1));
    const referred = typeof $ref === "string" ? resolvePointer(this.#root, $ref) : undefined;
    const merged = combined([
      choiceOf(each(listOf(anyOf ?? oneOf))),
      ...each(referred === undefined ? listOf(allOf) : [referred, ...listOf(allOf)]),
      own,
    ]);
    this.#left -= sizeOf(merged);
    return merged;
  }
}

/** Returns the cost of merging a part into another. */
const sizeOf = (keywords: Keywords): number =>
  Object.values(keywords).reduce<number>(
    (sum, value) => sum + 1 + (isObject(value) ? Object.keys(value) : listOf(value)).length,
    0,
  );

/** Merges a union: all options, the only branch besides null, or the string branch. */
function choiceOf(branches: Keywords[]): Keywords {
  const some = branches.filter(({ type }) => type !== "null");
  if (some.length === 0) return {};
  const options = some.map(enumOptions);
  if (options.every((list) => list !== undefined)) return { enum: options.flat() };
  const meant = some.length === 1 ? some[0] : some.find(({ type }) => type === "string");
  if (!meant) return { type: some.flatMap(({ type }) => type ?? []) };
  // The title and description of a branch describe the branch, not the field.
  const { title, description, ...rest } = meant;
  const isText = rest.type === "string" && some.some(({ type }) => type === "array");
  return isText ? { ...rest, type: ["string", "array"] } : rest;
}

/** Returns the allowed values of a part, if it lists them. */
export function enumOptions({ const: only, enum: several }: Keywords): Json[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(several) ? several : undefined;
}

/** Combines parts. Later ones override earlier ones; properties and required names add up. */
function combined(parts: Keywords[]): Keywords {
  const properties = together(parts.map((part) => fieldsOf(part.properties)));
  const required = parts.flatMap((part) => listOf(part.required));
  return together([
    ...parts,
    Object.keys(properties).length > 0 ? { properties } : {},
    required.length > 0 ? { required } : {},
  ]);
}

/** Merges objects by entries, since assigning `__proto__` would set the prototype. */
const together = (objects: Keywords[]): Keywords =>
  Object.fromEntries(objects.flatMap((one) => Object.entries(one)));
