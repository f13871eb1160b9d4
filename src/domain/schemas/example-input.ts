/** An input for code samples: the defaults of a schema, and placeholders for its other required fields. */

import type { Json } from "../../protocol/common.ts";
import { type Field, formFields } from "./input-form.ts";

export const exampleInput = (schema: Json): { [name: string]: Json } =>
  Object.fromEntries(
    formFields(schema)
      .filter((field) => field.required || field.default !== undefined)
      .map((field) => [field.name, field.default ?? placeholder(field)]),
  );

/** Files that are small enough to stand in a command, so that it works as it stands. */
const FILES: [of: RegExp, address: string][] = [
  [
    /image|picture|photo|mask|img/i,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ],
  [
    /audio|sound|speech|voice|music|song/i,
    "data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=",
  ],
];

const fileFor = ({ name, description }: Field): string =>
  FILES.find(([of]) => of.test(`${name} ${description}`))?.[1] ?? "https://example.com/file";

function placeholder(field: Field): Json {
  const { kind, minimum = 1, options = [null] } = field;
  switch (kind) {
    case "boolean":
      return true;
    case "enum":
      return options[0] ?? null;
    case "file":
      return fileFor(field);
    case "files":
      return [fileFor(field)];
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
