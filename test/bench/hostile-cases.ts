/** Hostile inputs that would take long without bounds, each next to an ordinary one for the same code. */
import { Markdown } from "../../src/dashboard/ui/markdown.ts";
import { findStrings, findUriStrings } from "../../src/domain/files/input-files.ts";
import { parsePrefer } from "../../src/domain/predictions/prefer.ts";
import { formFields } from "../../src/domain/schemas/input-form.ts";
import { PatternMatcher, validateInput } from "../../src/domain/schemas/json-schema.ts";
import { Meter } from "../../src/domain/schemas/json-schema-visit.ts";
import { exceededBound } from "../../src/lib/json-scan.ts";
import type { Json } from "../../src/protocol/common.ts";
import { HOSTILE } from "../dashboard/hostile-markdown.ts";
import { avalanche, object } from "../domain/schemas/json-schemas.ts";

export interface Case {
  what: string;
  hostile: () => unknown;
  ordinary: () => unknown;
}

const BOUNDS = { depth: 128, values: 500_000 };
const WAIT = { default: 60, max: 60 };
const URI: Json = { type: "string", format: "uri" };
const ADDRESS = "https://example.com/a.png";
const STRINGS = { like: (text: string) => text.startsWith("/v1/"), most: 90 };

const nested = (levels: number, around: (inner: Json) => Json): Json => {
  let value: Json = ADDRESS;
  for (let n = 0; n < levels; n++) value = around(value);
  return value;
};

const markdown = (text: string) => () => String(Markdown({ text }));
const paragraph = "Some *ordinary* words, a [link](https://example.com) and `code`.\n\n";
const ordinaryText = paragraph.repeat(32_000 / paragraph.length);

const pass = (text: string) => () => exceededBound(text, BOUNDS);
const ordinaryJson = `"${"A".repeat(10_000_000)}"`;

const matches = (pattern: string, text: string) => () =>
  new PatternMatcher(new Meter()).matches(pattern, text);
const WORDS = "^[a-z]+$";

const numbers = Array.from({ length: 90_000 }, (_, n) => n);
const valid = (schema: Record<string, Json>, input: Json) => () => validateInput(schema, input);
const ordinaryInput = valid(object({ a: { items: { type: "integer" } } }), { a: numbers });

const fields = (schema: Record<string, Json>) => () => formFields(schema);
const tenFields = object(
  Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`field${n}`, { type: "string" }])),
);

const files = (schema: Json, input: Json) => () =>
  findUriStrings(schema, input, { ...STRINGS, like: () => true });
const ordinaryFiles = files(object({ a: { items: URI } }), { a: Array<Json>(90).fill(ADDRESS) });

export const CASES: Case[] = [
  ...HOSTILE.map(({ what, text }) => ({
    what: `Markdown: ${what}`,
    hostile: markdown(text),
    ordinary: markdown(ordinaryText),
  })),
  ...["[".repeat(10_000_000), `[${"[],".repeat(3_000_000)}`, `[${"1,".repeat(5_000_000)}`].map(
    (text) => ({
      what: `JSON: 10 MB of ${text.slice(1, 4)}`,
      hostile: pass(text),
      ordinary: pass(ordinaryJson),
    }),
  ),
  ...[
    ["(?:(?:a+){16}){16}", "a".repeat(36)],
    ["^(?:a?){200}a{200}$", "a".repeat(200)],
    ["(a|b)*a(a|b){150}$", "ab".repeat(5_000)],
    ["(a*)*x", "a".repeat(10_000)],
  ].map(([pattern = "", text = ""]) => ({
    what: `pattern: ${pattern}`,
    hostile: matches(pattern, text),
    ordinary: matches(WORDS, "a".repeat(10_000)),
  })),
  ...["a{1000}".repeat(1_000), "a".repeat(10_000_000)].map((pattern) => ({
    what: `pattern: ${pattern.length} characters`,
    hostile: matches(pattern, ""),
    ordinary: matches(WORDS, ""),
  })),
  ...["allOf", "anyOf", "oneOf"].map((keyword) => ({
    what: `schema: ${keyword} that doubles at each level`,
    hostile: valid(avalanche(keyword, 30, { type: "string" }), "a"),
    ordinary: ordinaryInput,
  })),
  {
    what: "form: a schema that doubles at each level",
    hostile: fields(avalanche("allOf", 30, object({ a: { type: "string" } }))),
    ordinary: fields(tenFields),
  },
  {
    what: "files: a hundred thousand items, each in ten branches",
    hostile: files(
      { additionalProperties: { items: { anyOf: Array<Json>(10).fill(URI) } } },
      { a: Array<string>(100_000).fill(ADDRESS) },
    ),
    ordinary: ordinaryFiles,
  },
  {
    what: "files: a hundred thousand levels with an address at each",
    hostile: () =>
      findStrings(
        STRINGS,
        nested(100_000, (inner) => ["/v1/uploads/x", inner]),
      ),
    ordinary: () => findStrings(STRINGS, Array<string>(90).fill("/v1/uploads/x")),
  },
  {
    what: "Prefer: a thousand quotes",
    hostile: () => parsePrefer('"'.repeat(1_000), WAIT),
    ordinary: () => parsePrefer("wait=5", WAIT),
  },
];
