/**
 * Which strings of an input stand for files: those that the schema calls `format: uri`, and,
 * wherever they stand, those that are the address of an upload or a file of this deployment.
 */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { resolvePointer } from "../schemas/json-pointer.ts";

export type JsonPath = (string | number)[];

export interface FoundString {
  at: JsonPath;
  text: string;
}

/** Which strings are looked for. Once more than `most` are found the search ends. */
export interface StringSearch {
  like: (text: string) => boolean;
  most: number;
}

/** Steps in schema and input together: a schema may be written to branch without end. */
const MAX_STEPS = 1_000_000;

/** JSON may be nested as deep as its size allows; a schema that follows it is a recursive one. */
const MAX_DEPTH = 500;

/** The way to a file travels with the job: so many characters of names, an index counting as one. */
const MAX_WAY = 2_000;

/** @throws RangeError when it would take too long, or a way is too long. */
export function findUriStrings(
  schema: Json,
  input: Json,
  { like, most }: StringSearch,
): FoundString[] {
  const found: FoundString[] = [];
  // Several branches of a schema may come to one place: it is known by its object and its name there.
  const seen = new Map<Json | undefined, Set<string | number | undefined>>();
  let steps = 0;
  const isNew = ({ from, name }: Step) => {
    const names = seen.get(from?.value) ?? new Set();
    seen.set(from?.value, names);
    return names.size < names.add(name).size;
  };
  const walk = (part: Json | undefined, step: Step, depth: number) => {
    const { value } = step;
    // Nothing but a text can be an address: long lists of numbers cost nothing.
    if (typeof value !== "string" && !isTree(value)) return;
    if (!isObject(part) || found.length > most) return;
    if (++steps > MAX_STEPS || depth > MAX_DEPTH) throw new RangeError("too many steps");
    if (typeof value === "string") {
      if (part.format === "uri" && like(value) && isNew(step)) found.push(foundAt(step, value));
    } else if (Array.isArray(value)) {
      value.forEach((item, n) => {
        const items = listOf(part.prefixItems)[n] ?? part.items;
        walk(items, { value: item, name: n, from: step }, depth + 1);
      });
    } else if (isObject(value)) {
      for (const [name, item] of Object.entries(value)) {
        const known = isObject(part.properties) ? own(part.properties, name) : undefined;
        walk(known ?? part.additionalProperties, { value: item, name, from: step }, depth + 1);
      }
    }
    for (const keyword of ["allOf", "anyOf", "oneOf"]) {
      for (const branch of listOf(part[keyword])) walk(branch, step, depth + 1);
    }
    if (typeof part.$ref === "string") walk(resolvePointer(schema, part.$ref), step, depth + 1);
  };
  walk(schema, { value: input }, 0);
  return found;
}

/**
 * Every string that is wanted. The input may be nested as deep as 10 MB allow.
 * @throws RangeError when a way is too long.
 */
export function findStrings({ like, most }: StringSearch, input: Json): FoundString[] {
  const found: FoundString[] = [];
  const open: Step[] = [{ value: input }];
  for (let step = open.pop(); step && found.length <= most; step = open.pop()) {
    const { value } = step;
    if (typeof value === "string") {
      if (like(value)) found.push(foundAt(step, value));
    } else if (typeof value === "object" && value !== null) {
      const list = Array.isArray(value);
      for (const [name, item] of Object.entries(value)) {
        open.push({ value: item, name: list ? Number(name) : name, from: step });
      }
    }
  }
  return found;
}

interface Step {
  value: Json;
  name?: string | number;
  from?: Step;
}

function foundAt(step: Step, text: string): FoundString {
  const place: JsonPath = [];
  let length = 0;
  for (let at: Step | undefined = step; at?.name !== undefined; at = at.from) {
    length += typeof at.name === "string" ? at.name.length : 1;
    if (length > MAX_WAY) throw new RangeError("the way to a file is too long");
    place.push(at.name);
  }
  return { at: place.reverse(), text };
}

const isTree = (value: Json): boolean => typeof value === "object" && value !== null;

const listOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);

const own = (object: { [key: string]: Json }, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;
