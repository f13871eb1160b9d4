/** An input for code samples: the defaults of a schema, and placeholders for its other required fields. */

import type { Json } from "../../protocol/common.ts";
import { type Field, formFields } from "./input-form.ts";

export const exampleInput = (schema: Json): { [name: string]: Json } =>
  Object.fromEntries(
    formFields(schema)
      .filter((field) => field.required || field.default !== undefined)
      .map((field) => [field.name, field.default ?? placeholder(field)]),
  );

function placeholder({ kind, minimum = 1, options = [null] }: Field): Json {
  switch (kind) {
    case "boolean":
      return true;
    case "enum":
      return options[0] ?? null;
    case "file":
      return "https://example.com/file";
    case "files":
      return ["https://example.com/file"];
    case "integer":
    case "number":
    case "range":
      return minimum;
    case "json":
      return {};
    case "messages":
      return [{ role: "user", content: "Who are you?" }];
    case "strings":
      return ["some text"];
    default:
      return "some text";
  }
}
