/** Hostile OpenAPI documents: reading, checking and showing them takes bounded time. */
import { describe, expect, test } from "vitest";
import { cogCompatibilities } from "../../../src/domain/images/compatibilities.ts";
import { cogSchemas, readOpenapi } from "../../../src/domain/images/openapi-document.ts";
import { formFields } from "../../../src/domain/schemas/input-form.ts";
import { faultOfSchemas } from "../../../src/domain/schemas/json-schema.ts";
import { versionSchema } from "../../../src/domain/schemas/version-schemas.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { openapiOf } from "./samples.ts";

type Fields = { [name: string]: Json };

/** Each document takes up to 150 ms on an idle machine; without bounds, seconds or minutes. */
const MAX_MS = 1_000;

const refTo = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

const named = (count: number, make: (n: number) => Json): Fields =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`S${n}`, make(n)]));

const many = (count: number, part: Json): Json[] => Array<Json>(count).fill(part);

const nested = (depth: number, part: Json): Json =>
  depth === 0 ? part : { items: nested(depth - 1, part) };

/** Returns schemas in which each level refers to the next one twice. */
const doubling = (levels: number, keyword: string): Fields => ({
  Input: { properties: { messages: refTo("S0") } },
  Output: refTo("S0"),
  ...named(levels, (n) =>
    n === levels - 1 ? { type: "string" } : { [keyword]: many(2, refTo(`S${n + 1}`)) },
  ),
});

const LONG_REFERENCE = `#/components/schemas/Long/properties/${"~1".repeat(10_000)}`;

const LONG_NAME = "x".repeat(60_000);

/** Publishes the document: its compatibilities and its form. Returns why it cannot be, if so. */
function publish(text: string): string | undefined {
  const document = readOpenapi(text);
  if (!document) throw new Error("not a document");
  const { schemas, fault } = cogSchemas(document);
  if (!schemas) return fault;
  cogCompatibilities(schemas);
  formFields(versionSchema(schemas, "input"));
  return faultOfSchemas(schemas);
}

/** Returns the processor time of a run, ms: of three runs the least, if the first ones take too long. */
function quickestOf(run: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let runs = 0; runs < 3 && least >= MAX_MS; runs++) {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

const TOO_LONG = /at most 100000 characters as JSON/;
const TOO_MANY = /at most 4000 objects and lists/;
const LONG_NAMES = /their names are too long/;
const STEPS = /takes more than 1000000 steps/;
const FINE = /^$/;

describe.each(["3.0.2", "3.1.0"])("a document of OpenAPI %s", (version) => {
  test.each<[string, Fields, RegExp]>([
    ["of 360 kB", { Input: { properties: named(24_000, () => ({})) } }, TOO_LONG],
    ["of many empty parts", { Input: { anyOf: many(20_000, {}) } }, TOO_MANY],
    ["of as many parts as it may have", { Input: { properties: named(3_900, () => ({})) } }, FINE],
    ["that is deep and wide", { Input: nested(50, { anyOf: many(3_900, {}) }) }, FINE],
    ["of many deep branches", { Input: { anyOf: many(70, nested(50, {})) } }, FINE],
    [
      "of references in a row, to nothing",
      { Input: refTo("S0"), ...named(1_500, (n) => refTo(`S${n + 1}`)) },
      /does not exist/,
    ],
    [
      "of many references to a wide part",
      {
        Input: { properties: { messages: { anyOf: many(1_500, refTo("Wide")) } } },
        Wide: { properties: named(2_000, () => ({})) },
      },
      FINE,
    ],
    [
      "of many references to a long list",
      {
        Input: { properties: { messages: { anyOf: many(1_200, refTo("Wide")) } } },
        Wide: { enum: Array.from({ length: 4_000 }, (_, n) => n) },
      },
      FINE,
    ],
    [
      "of many references to many empty parts",
      { Input: { anyOf: many(1_500, refTo("Wide")) }, Wide: { allOf: many(1_000, {}) } },
      STEPS,
    ],
    [
      "of many references to a long reference, to nothing",
      {
        Input: { properties: { messages: { anyOf: many(1_200, refTo("Long")) } } },
        Long: { $ref: `#${"/".repeat(30_000)}` },
      },
      /does not exist/,
    ],
    [
      "of many references to a long reference, to a name of slashes",
      {
        Input: { properties: { messages: { anyOf: many(1_200, refTo("Long")) } } },
        Long: { properties: { ["/".repeat(10_000)]: {} }, $ref: LONG_REFERENCE },
      },
      FINE,
    ],
    [
      "of many references in a row, to a part of many keywords",
      {
        Input: { properties: { messages: { anyOf: many(900, refTo("S0")) } } },
        ...named(27, (n) => (n < 26 ? refTo(`S${n + 1}`) : named(5_000, (k) => k))),
      },
      FINE,
    ],
    ["that doubles, by allOf", doubling(40, "allOf"), STEPS],
    ["that doubles, by anyOf", doubling(40, "anyOf"), STEPS],
    [
      "of parts below a long name",
      { Input: { properties: { [LONG_NAME]: { anyOf: many(3_900, {}) } } } },
      LONG_NAMES,
    ],
    [
      "of parts below a long id",
      { Input: { $id: `https://${LONG_NAME}/`, anyOf: many(3_900, {}) } },
      LONG_NAMES,
    ],
  ])("a hostile document is handled in bounded time: %s", (_, schemas, outcome) => {
    const text = openapiOf({ Output: { type: "string" }, ...schemas }, version);
    let fault: string | undefined;
    const took = quickestOf(() => {
      fault = publish(text);
    });
    expect(fault ?? "").toMatch(outcome);
    expect(took).toBeLessThan(MAX_MS);
  });
});
