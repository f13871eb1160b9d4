/** Finds the secret fields of an input. A field that contains a secret is secret, too. */

import { unmarked } from "../../lib/exact-json.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { SchemaResolver } from "./input-form-schema.ts";
import { resolvePointer } from "./json-pointer.ts";

export type IsSecret = (name: string) => boolean;

/** The parts that are read for all fields together: the rest of a larger schema counts as secret. */
const MAX_PARTS = 50_000;

/** Names that make a field secret, since models whose schema does not say so take secrets, too. */
const SECRET_NAME = /secret|passw|credential|authorization|api_?key|(?:^|_)token$/i;

/** Finds secret fields by the schema: pages neither show what was sent in these fields, nor fill them in. */
export function secretFieldsOf(schema: Json): IsSecret {
  const { properties } = new SchemaResolver(schema).resolve(schema);
  const known = new Map(Object.entries(fieldsOf(properties)));
  const search = new SecretSearch(schema);
  // A field that no property describes may have any part of the schema.
  return (name) => search.isIn(known.get(name) ?? schema);
}

/** Finds the fields that other users do not see: also by their names. */
export function hiddenFieldsOf(schema: Json): IsSecret {
  const isSecret = secretFieldsOf(schema);
  return (name) => SECRET_NAME.test(name) || isSecret(name);
}

/** The depth to which parts are read. Deeper parts are not shown. */
const MAX_DEPTH = 100;

/** Returns the input that other users see: no hidden fields, nor values named like a secret. */
export function withoutHidden(
  input: Record<string, Json>,
  isHidden: IsSecret,
): Record<string, Json> {
  const kept = Object.entries(input).filter(([name]) => !isHidden(unmarked(name)));
  return Object.fromEntries(kept.map(([name, value]) => [name, withoutNamed(value, 1)]));
}

function withoutNamed(value: Json, depth: number): Json {
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => withoutNamed(item, depth + 1));
  const kept = Object.entries(value).filter(([name]) => !SECRET_NAME.test(name));
  return Object.fromEntries(kept.map(([name, item]) => [name, withoutNamed(item, depth + 1)]));
}

const MASK = "••••••••";

export function withMasks(input: Json | undefined, isSecret: IsSecret): Json | undefined {
  if (!isObject(input)) return input;
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, isSecret(unmarked(name)) ? MASK : value]),
  );
}

/** @returns also whether there were any secrets */
export function withoutSecrets(
  input: Record<string, Json>,
  isSecret: IsSecret,
): { input: Record<string, Json>; left: boolean } {
  const all = Object.entries(input);
  const kept = all.filter(([name]) => !isSecret(unmarked(name)));
  return { input: Object.fromEntries(kept), left: kept.length < all.length };
}

class SecretSearch {
  readonly #root: Json;
  readonly #clean = new Set<Json>();
  readonly #verdicts = new Map<Json, boolean>();
  #looked = 0;

  constructor(root: Json) {
    this.#root = root;
  }

  isIn(part: Json): boolean {
    const verdict = this.#verdicts.get(part) ?? this.#look(part);
    this.#verdicts.set(part, verdict);
    return verdict;
  }

  /** Searches every part that any keyword leads to: a form reads only some. */
  #look(part: Json): boolean {
    const seen = new Set<Json>();
    const left = [part];
    for (let one = left.pop(); one !== undefined; one = left.pop()) {
      if (typeof one !== "object" || one === null || seen.has(one) || this.#clean.has(one))
        continue;
      seen.add(one);
      this.#looked += 1;
      if (this.#looked > MAX_PARTS || (isObject(one) && isMarked(one))) return true;
      if (isObject(one) && typeof one.$ref === "string")
        left.push(resolvePointer(this.#root, one.$ref) ?? null);
      for (const inner of Object.values(one)) left.push(inner);
    }
    for (const one of seen) this.#clean.add(one);
    return false;
  }
}

const isMarked = (part: { [keyword: string]: Json }): boolean =>
  part.format === "password" || part["x-cog-secret"] === true || part.writeOnly === true;
