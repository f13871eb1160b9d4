/**
 * The changes of a new version that callers notice: the fields of a schema that were added, removed or
 * changed. Changes of titles, descriptions and the order of fields do not count.
 */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { enumOptions, type Keywords, SchemaResolver } from "./input-form-schema.ts";

/** The facts of a field that are compared, in the order in which they are listed. */
export const FACTS = [
  ...["type", "required", "default", "options", "minimum", "maximum", "exclusiveMinimum"],
  ...["exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems"],
  ...["pattern"],
] as const;
export type Fact = (typeof FACTS)[number];

type Facts = { [fact in Fact]?: Json };

export interface Difference {
  fact: Fact;
  /** The value before the change, and after it. Undefined: the fact did not or does not exist. */
  before: Json | undefined;
  after: Json | undefined;
}

export interface FieldChange {
  /** The name: `size`, `crop.width` in an object, `words[]` for items of a list; empty for the whole. */
  name: string;
  change: "added" | "removed" | "changed";
  /** The differences. A field that was added or removed lists all its facts. */
  differences: Difference[];
}

/** The limits of what is compared: schemas can refer to themselves, and can be wide. */
const MAX_DEPTH = 4;
const MAX_FIELDS = 500;

export function schemaChanges(before: Json, after: Json): FieldChange[] {
  const [old, now] = [fieldsIn(before), fieldsIn(after)];
  const changes = [...now].flatMap(([name, facts]): FieldChange[] => {
    const known = old.get(name);
    const differences = between(known ?? {}, facts);
    if (!known) return [{ name, change: "added", differences }];
    return differences.length === 0 ? [] : [{ name, change: "changed", differences }];
  });
  const removed = [...old]
    .filter(([name]) => !now.has(name))
    .map(
      ([name, facts]): FieldChange => ({
        name,
        change: "removed",
        differences: between(facts, {}),
      }),
    );
  return [...changes, ...removed];
}

const between = (before: Facts, after: Facts): Difference[] =>
  FACTS.flatMap((fact) => {
    const one = { fact, before: before[fact], after: after[fact] };
    return JSON.stringify(one.before) === JSON.stringify(one.after) ? [] : [one];
  });

function fieldsIn(schema: Json): Map<string, Facts> {
  const resolver = SchemaResolver.of(schema);
  const fields = new Map<string, Facts>();

  function read(part: Json | undefined, name: string, required: boolean, depth: number): void {
    if (depth > MAX_DEPTH || fields.size >= MAX_FIELDS) return;
    const keywords = resolver.resolve(part);
    fields.set(name, factsOf(keywords, required));
    const needed = new Set(listOf(keywords.required));
    for (const [inner, one] of inOrder(keywords, resolver))
      read(one, name === "" ? inner : `${name}.${inner}`, needed.has(inner), depth + 1);
    // The type names the items of a list; items with properties are listed as fields, too.
    if (isObject(keywords.items) && "properties" in resolver.resolve(keywords.items))
      read(keywords.items, `${name}[]`, false, depth + 1);
  }

  read(schema, "", false, 0);
  return fields;

  function factsOf(keywords: Keywords, required: boolean): Facts {
    const facts: Facts = { type: typeOf(keywords, resolver), ...(required && { required }) };
    const options = enumOptions(keywords);
    if (options) facts.options = options;
    for (const fact of FACTS) {
      const value = keywords[fact];
      if (fact !== "type" && fact !== "required" && fact !== "options" && value !== undefined)
        facts[fact] = value;
    }
    return facts;
  }
}

/** Returns properties by `x-order`, as the form has them. */
const inOrder = ({ properties }: Keywords, resolver: SchemaResolver): [string, Json][] =>
  Object.entries(fieldsOf(properties)).toSorted(
    ([, a], [, b]) => orderOf(resolver.resolve(a)) - orderOf(resolver.resolve(b)),
  );

const orderOf = ({ "x-order": order }: Keywords): number =>
  typeof order === "number" ? order : Number.MAX_SAFE_INTEGER;

/** Returns the type in words: `integer`, `text, a URL`, `list of number`, `anything`. */
function typeOf(keywords: Keywords, resolver: SchemaResolver, depth = 0): string {
  const { type, format, items } = keywords;
  // Each type is listed once: lists of two lists would make a thousand types in ten levels.
  const types = [...new Set([type ?? []].flat())].filter(
    (one) => typeof one === "string" && one !== "null",
  );
  if (types.length === 0) return enumOptions(keywords) ? "one of a list" : "anything";
  const names = types.map((one) =>
    one === "array" && isObject(items) && depth < MAX_DEPTH
      ? `list of ${typeOf(resolver.resolve(items), resolver, depth + 1)}`
      : nameOf(String(one), format),
  );
  return names.join(" or ");
}

const NAMES: Record<string, string> = { array: "list", boolean: "yes or no", string: "text" };

const nameOf = (type: string, format: Json | undefined): string => {
  const name = NAMES[type] ?? type;
  if (type !== "string" || typeof format !== "string") return name;
  return format === "uri" ? "file" : `${name} (${format})`;
};
