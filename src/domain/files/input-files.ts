/** Finds the addresses of files in an input: its `format: uri` fields, and URLs of this deployment. */
import { listOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { resolvePointer } from "../schemas/json-pointer.ts";

export type JsonPath = (string | number)[];

export interface FoundString {
  at: JsonPath;
  text: string;
}

/** The search for some strings. It ends once more than `most` are found. */
export interface StringSearch {
  like: (text: string) => boolean;
  most: number;
}

/** Steps through schema and input together: a schema can branch without end. */
const MAX_STEPS = 1_000_000;

/** The depth of the search: recursive schemas follow an input as deep as it is nested. */
const MAX_DEPTH = 500;

/** The characters of a path, which is sent with the job. An index counts as one. */
const MAX_PATH = 2_000;

/** @throws RangeError when it takes too many steps, or a path is too long */
export function findUriStrings(
  schema: Json,
  input: Json,
  { like, most }: StringSearch,
): FoundString[] {
  const found: FoundString[] = [];
  // Several branches of a schema can lead to one string, which is identified by its parent and name.
  const seen = new Map<Json | undefined, Set<string | number | undefined>>();
  let steps = 0;
  const isNew = ({ from, name }: Step) => {
    const names = seen.get(from?.value) ?? new Set();
    seen.set(from?.value, names);
    return names.size < names.add(name).size;
  };
  const walk = (part: Json | undefined, step: Step, depth: number) => {
    const { value } = step;
    // Only strings can be URLs, so long lists of numbers are skipped.
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

/** Finds matching strings at any depth, without recursion. @throws RangeError when a path is too long */
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
    if (length > MAX_PATH) throw new RangeError("the path to a file is too long");
    place.push(at.name);
  }
  return { at: place.reverse(), text };
}

const isTree = (value: Json): boolean => typeof value === "object" && value !== null;

const own = (object: { [key: string]: Json }, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Returns a copy with the text at the path; everything off the path is shared. */
export function replaceText<T extends Json>(input: T, place: JsonPath, text: string): T;
export function replaceText(input: Json, [step, ...rest]: JsonPath, text: string): Json {
  if (step === undefined) return text;
  const child = replaceText(getChild(input, step) ?? null, rest, text);
  if (Array.isArray(input)) return input.with(Number(step), child);
  return typeof input === "object" ? { ...input, [step]: child } : input;
}

/** Returns a child. Only own properties count, since a name may be that of an inherited one. */
export function getChild(value: Json | undefined, step: string | number): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return Array.isArray(value) ? value[Number(step)] : value[step];
}
