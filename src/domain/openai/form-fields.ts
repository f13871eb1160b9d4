/** The fields of a form as the JSON object that a call's schema describes. */
import type { z } from "zod";
import { isObject, type Json } from "../../lib/json.ts";

export interface FormField {
  name: string;
  /** The text of the field; of a file: its URL. */
  value: string;
}

/** The name of a field. Clients write a list as `name[]` or repeat it, and an object as `name[field]`. */
const NAME = /^([^[\]]{1,200})(?:\[([^[\]]{0,200})\])?$/;

export const fieldName = (name: string): string | undefined => NAME.exec(name)?.[1];

/** @param schema of the body: it says which texts of a form are read as numbers or booleans */
export function formObject(fields: FormField[], schema: z.ZodObject): Record<string, Json> {
  const values = new Map<string, Json>();
  for (const { name, value } of fields) {
    const [, base = name, inner] = NAME.exec(name) ?? [];
    const before = values.get(base);
    if (inner === undefined && before === undefined) values.set(base, value);
    else if (inner) {
      const object = isObject(before) ? before : {};
      values.set(base, Object.fromEntries([...Object.entries(object), [inner, value]]));
    } else {
      const list = Array.isArray(before) ? before : before === undefined ? [] : [before];
      list.push(value);
      values.set(base, list);
    }
  }
  return Object.fromEntries(
    [...values].map(([name, value]) => [name, asTaken(value, schema.shape[name])]),
  );
}

/** Returns the value in the schema's type. A text that cannot be read stays, for the schema to report. */
function asTaken(value: Json, field: z.core.$ZodType | undefined): Json {
  const takes = (one: Json) =>
    field !== undefined && isParser(field) && field.safeParse(one).success;
  if (field === undefined || takes(value)) return value;
  const read = withScalars(value);
  return takes(read) ? read : value;
}

const isParser = (field: z.core.$ZodType): field is z.ZodType => "safeParse" in field;

const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d{0,15})(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?)$/i;

function withScalars(value: Json): Json {
  if (typeof value === "string")
    // Python writes True and False.
    return SCALAR.test(value) ? JSON.parse(value.toLowerCase()) : value;
  if (Array.isArray(value)) return value.map(withScalars);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withScalars(one)]));
}
