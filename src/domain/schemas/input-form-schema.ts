/** Parts of a JSON Schema with what they refer to put in, for those who show them and do not judge. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { resolvePointer } from "./json-pointer.ts";

/** What a part says, all in one place. */
export type Keywords = { [keyword: string]: Json };

/** Of keywords: a schema may be written to refer to itself, or to double at each level. */
const MAX_READ = 100_000;
const MAX_DEPTH = 32;

export class SchemaResolver {
  readonly #root: Json;
  #left = MAX_READ;

  constructor(root: Json) {
    this.#root = root;
  }

  /** What is written beside a reference counts before what it leads to. Nothing: what is no object. */
  resolve(part: Json | undefined, depth = 0): Keywords {
    if (!isObject(part) || depth > MAX_DEPTH || this.#left <= 0) return {};
    this.#left -= Object.keys(part).length;
    const { $ref, allOf, anyOf, oneOf, ...own } = part;
    const each = (parts: Json[]) => parts.map((one) => this.resolve(one, depth + 1));
    const referred = typeof $ref === "string" ? resolvePointer(this.#root, $ref) : undefined;
    return combined([
      choiceOf(each(listOf(anyOf ?? oneOf))),
      ...each(referred === undefined ? listOf(allOf) : [referred, ...listOf(allOf)]),
      own,
    ]);
  }
}

/**
 * What a union comes to: the options of all its branches, the only one beside null, or that of texts,
 * which may be lists as well.
 */
function choiceOf(branches: Keywords[]): Keywords {
  const some = branches.filter(({ type }) => type !== "null");
  if (some.length === 0) return {};
  const options = some.map(enumOptions);
  if (options.every((list) => list !== undefined)) return { enum: options.flat() };
  const meant = some.length === 1 ? some[0] : some.find(({ type }) => type === "string");
  if (!meant) return { type: some.flatMap(({ type }) => type ?? []) };
  // A branch is called what it is for, not what the whole is for.
  const { title, description, ...rest } = meant;
  const isText = rest.type === "string" && some.some(({ type }) => type === "array");
  return isText ? { ...rest, type: ["string", "array"] } : rest;
}

/** The values that a part lists, if it does. */
export function enumOptions({ const: only, enum: several }: Keywords): Json[] | undefined {
  if (only !== undefined) return [only];
  return Array.isArray(several) ? several : undefined;
}

/** Later ones count before earlier ones; properties, and what is required, add up. */
function combined(parts: Keywords[]): Keywords {
  const properties = together(parts.map((part) => objectOf(part.properties)));
  const required = parts.flatMap((part) => listOf(part.required));
  return together([
    ...parts,
    Object.keys(properties).length > 0 ? { properties } : {},
    required.length > 0 ? { required } : {},
  ]);
}

/** By entries: to assign `__proto__` would set it. */
const together = (objects: Keywords[]): Keywords =>
  Object.fromEntries(objects.flatMap((one) => Object.entries(one)));

export const objectOf = (value: Json | undefined): Keywords => (isObject(value) ? value : {});

export const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
