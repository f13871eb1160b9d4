/** Schemas and inputs for tests that search inputs for files. */
import type { FoundString, StringSearch } from "../../../src/domain/files/input-files.ts";
import type { Json } from "../../../src/protocol/common.ts";

export const URI: Json = { type: "string", format: "uri" };
export const URL = "https://example.com/a.png";
export const ANY: StringSearch = { like: () => true, most: 100 };
export const LIKE: StringSearch = { like: (text) => text.startsWith("/v1/"), most: 100 };

export const object = (properties: { [name: string]: Json }): Json => ({
  type: "object",
  properties,
});

export const placesOf = (found: FoundString[]) => found.map((one) => one.at);

/** Returns a value of this depth, by a loop: recursion would overflow the stack. */
export function nested(depth: number, wrap: (inner: Json) => Json): Json {
  let value: Json = URL;
  for (let n = 0; n < depth; n++) value = wrap(value);
  return value;
}
