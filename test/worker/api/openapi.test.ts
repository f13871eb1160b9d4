/** /v1/openapi.json: valid, complete, and in accord with the routes. */
import { dereference, Validator, validate as validateBy } from "@cfworker/json-schema";
import { validate } from "@hyperjump/json-schema/openapi-3-1";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { operationsIn } from "../../../src/openapi/document.ts";
import { resolveSchema, type Schema } from "../../../src/openapi/types.ts";
import { createUpload } from "../../../src/protocol/upload.ts";
import { sized } from "../../support/sized.ts";
import { Client } from "../support/client.ts";
import {
  bodyOf,
  documentIn,
  filled,
  parametersOf,
  schemaNamed,
  schemasOf,
  successesOf,
} from "../support/document.ts";
import { operator } from "../support/world.ts";

const document = await documentIn("A");
const operations = operationsIn(document);
const shapes = { A: document, B: await documentIn("B") };
const nobody = new Client(undefined);

/** All values in a document, with the pointers to them. */
function* walk(value: unknown, at = "#"): Generator<[at: string, value: object]> {
  if (typeof value !== "object" || value === null) return;
  yield [at, value];
  for (const [key, part] of Object.entries(value)) yield* walk(part, `${at}/${key}`);
}

test("the document is JSON that anybody may read and keep for 5 minutes", async () => {
  const response = await nobody.fetch("/v1/openapi.json");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("public, max-age=300");
  await response.text();
  const etag = response.headers.get("etag") ?? "";
  const again = await nobody.fetch("/v1/openapi.json", { headers: { "if-none-match": etag } });
  expect(again.status).toBe(304);
  expect(again.headers.get("x-request-id")).not.toBeNull();
});

/** Keys of the document that only people read. */
const PROSE = new Set(["summary", "example", "tags"]);

/** Returns the document without its prose; of a description, only the default that it states. */
const contractOf = (whole: object): unknown =>
  JSON.parse(
    JSON.stringify(whole, (key, value) => {
      if (PROSE.has(key)) return undefined;
      const isText = key === "description" && typeof value === "string";
      return isText ? /`[^`]*` by default/.exec(value)?.[0] : value;
    }),
  );

/** Returns JSON with one line for each part of at most 120 characters. */
function linesOf(part: unknown, indent = ""): string {
  const text = JSON.stringify(part);
  if (text.length <= 120 || typeof part !== "object" || part === null) return text;
  const deeper = `${indent} `;
  const lines = Object.entries(part).map(([key, value]) => {
    const name = Array.isArray(part) ? "" : `"${key}": `;
    return `${deeper}${name}${linesOf(value, deeper)}`;
  });
  const [open, close] = Array.isArray(part) ? "[]" : "{}";
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

test("endpoints, parameters, limits and fields are those that were last reviewed", async () => {
  const { Owner, User } = schemasOf(shapes.B);
  const reviewed = contractOf({ A: document, B: { Owner, User } });
  await expect(`${linesOf(reviewed)}\n`).toMatchFileSnapshot("openapi.snapshot");
});

test("no field of a body has a default: generated clients would have to send it", () => {
  const bodies = Object.entries(document.components?.schemas ?? {});
  const fields = [...walk(bodies)].filter(([at]) => !at.includes("/example"));
  expect(fields.filter(([, value]) => "default" in value)).toEqual([]);
  const { properties } = schemaNamed(document, "CreatePrediction");
  expect(properties?.stream).toMatchObject({
    description: expect.stringMatching(/; `false` by default$/),
  });
});

test("every component of the document is used", () => {
  const text = JSON.stringify(document);
  const { schemas = {}, responses = {}, headers = {} } = document.components ?? {};
  for (const [kind, parts] of Object.entries({ schemas, responses, headers })) {
    const names = Object.keys(parts).map((name) => `"#/components/${kind}/${name}"`);
    expect(names.filter((name) => !text.includes(name))).toEqual([]);
  }
});

/** The draft that a Validator reads by default. */
const DRAFT = "2019-09";

/** Returns the components by their references. A Validator would look all of them up again for each schema. */
function componentsByReference({ components }: object & { components?: object }) {
  const found = dereference(JSON.parse(JSON.stringify({ components })));
  const local = Object.entries(found).map(([uri, schema]) => [uri.replace(/^[^#]*/, ""), schema]);
  return { ...found, ...Object.fromEntries(local) };
}

const SHAPES = ["A", "B"] as const;

describe.each(SHAPES.slice(0, sized(1, SHAPES.length)))("shape %s", (shape) => {
  const shown = shapes[shape];

  test("the document is valid OpenAPI 3.1, its schemas included", async () => {
    const base = "https://spec.openapis.org/oas/3.1/schema-base";
    expect(await validate(base, JSON.parse(JSON.stringify(shown)), "BASIC")).toEqual({
      valid: true,
    });
  });

  test("every reference in the document has a target", () => {
    const places = new Set([...walk(shown)].map(([at]) => at));
    const targets = [...walk(shown)].flatMap(([, value]) => ("$ref" in value ? [value.$ref] : []));
    expect(targets.length).toBeGreaterThan(100);
    expect(targets.filter((target) => !places.has(String(target)))).toEqual([]);
  });

  test("every example in the document fits its schema", () => {
    const wrong: unknown[] = [];
    const byReference = componentsByReference(shown);
    let checked = 0;
    for (const [at, value] of walk(shown)) {
      if (!("example" in value) || at.includes("/example")) continue;
      const schema: Schema = "schema" in value ? Object(value.schema) : value;
      const copy = JSON.parse(JSON.stringify(schema));
      checked += 1;
      if (!validateBy(value.example, copy, DRAFT, byReference).valid)
        wrong.push([at, value.example]);
    }
    expect(wrong).toEqual([]);
    expect(checked).toBeGreaterThan(100);
  });
});

test("every pattern works with all validators: without flags, and without classes of Unicode", () => {
  const patterns = [...walk(document)].flatMap(([, value]) =>
    "pattern" in value && typeof value.pattern === "string" ? [value.pattern] : [],
  );
  expect(patterns.length).toBeGreaterThan(10);
  for (const pattern of patterns) {
    expect(() => [new RegExp(pattern), new RegExp(pattern, "u")]).not.toThrow();
    expect(pattern).not.toMatch(/\\p\{|\/[a-z]*$/i);
  }
});

const NAMES = ["photo.png", " ", "é", "🐙.png", "a:b?c", "..", "x".repeat(255)];
const NOT_NAMES = [
  "",
  "a/b",
  "a\\b",
  "a\nb",
  "\0",
  "\x7f",
  "\x85",
  "\ud800",
  "\udc00a",
  "x".repeat(256),
];

test("the document and the service agree on the names of files", () => {
  const { components } = document;
  const schema = new Validator({ $ref: "#/components/schemas/CreateUpload", components });
  const bodies = [...NAMES, ...NOT_NAMES].map((name) => ({ size: 1, mime_type: "a/b", name }));
  const expected = [...NAMES.map(() => true), ...NOT_NAMES.map(() => false)];
  expect(bodies.map((body) => schema.validate(body).valid)).toEqual(expected);
  expect(bodies.map((body) => createUpload.safeParse(body).success)).toEqual(expected);
});

const SOCKET = "GET /v1/vendora/responses";

test("the document has every route except those of runners, the WebSocket and its own", () => {
  const registered = app.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/v1/"))
    .filter(({ path }) => !path.startsWith("/v1/runner/") && path !== "/v1/openapi.json")
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`)
    .filter((route) => route !== SOCKET);
  const documented = operations.map(({ method, path }) => `${method.toUpperCase()} /v1${path}`);
  expect(documented.toSorted()).toEqual([...new Set(registered)].toSorted());
});

/** A misspelt field might have been the expiry of a token, or the retention of data. */
test("no body accepts unknown fields, except those of the convention and those that are sent back unchanged", () => {
  const open = operations.filter(({ operation }) => {
    const body = bodyOf(operation);
    return body && resolveSchema(body, schemasOf(document)).additionalProperties !== false;
  });
  expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "post /vendora/chat/completions",
    "post /vendora/completions",
    "post /vendora/embeddings",
    "post /vendora/images/generations",
    "post /vendora/images/edits",
    "post /vendora/moderations",
    "post /vendora/rerank",
    "post /vendora/responses/input_tokens",
    "post /vendora/responses/compact",
    "post /vendora/responses",
    "post /vendora/audio/speech",
    "post /vendora/audio/transcriptions",
    "post /vendora/audio/translations",
    "post /vendorb/messages",
    "post /vendorb/messages/count_tokens",
    "put /operator/categories/{slug}",
    "put /operator/hardware/{identifier}",
  ]);
});

test("operations have unique names, and groups with descriptions", () => {
  const ids = operations.map(({ operation }) => operation.operationId ?? "");
  expect(new Set(ids).size).toBe(ids.length);
  const groups = document.tags?.map(({ name }) => name);
  for (const { operation } of operations) {
    expect(operation.operationId).toMatch(/^[a-z]+([A-Z][a-z]+)*$/);
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/);
    expect(groups).toEqual(expect.arrayContaining(operation.tags ?? ["none"]));
  }
  expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(new Set(groups));
});

describe.each(operations)("$method $path", ({ method, path, operation }) => {
  const statuses = Object.keys(operation.responses ?? {});

  test("an operation declares its answers", () => {
    const successes = successesOf(operation);
    expect(successes.length).toBeGreaterThan(0);
    for (const [status, { content = {}, headers }] of successes) {
      expect(headers).toHaveProperty("x-request-id");
      const bare =
        ["204", "304"].includes(status) || path === "/predictions/{prediction_id}/cancel";
      expect(Object.values(content).map(({ schema }) => schema === undefined)).toEqual(
        bare ? [] : Object.keys(content).map(() => false),
      );
      expect(Object.keys(content).length > 0).toBe(!bare);
    }
    const expected = [
      "401",
      "422",
      "429",
      "500",
      "503",
      ...(bodyOf(operation) ? ["408", "413", "415"] : []),
    ];
    expect(statuses).toEqual(expect.arrayContaining(expected));
  });

  test("an operation declares its parameters and body", () => {
    for (const { name, description, schema } of parametersOf(operation)) {
      expect([name, description ?? ""]).toEqual([name, expect.stringMatching(/\w/)]);
      expect(schema).toBeDefined();
    }
    const named = [...path.matchAll(/{(\w+)}/g)].map(([, name]) => name);
    const parameters = parametersOf(operation).filter((one) => one.in === "path");
    expect(parameters.map(({ name }) => name).toSorted()).toEqual(named.toSorted());
    const body = bodyOf(operation);
    if (body) expect(JSON.stringify(operation.requestBody)).toContain('"example":');
  });

  const ask = (client: Client, token?: string) =>
    client.fetch(`/v1${filled(path, operation, schemasOf(document))}`, {
      method: method.toUpperCase(),
      headers: {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(bodyOf(operation) && { body: "{}" }),
    });

  test("an operation asks for a token as declared", async () => {
    const isPublic = operation.security?.some((way) => Object.keys(way).length === 0) ?? false;
    const isOperators = operation.security?.some((way) => "operatorToken" in way) ?? false;
    const [bare, bad, operators] = await Promise.all([
      ask(nobody),
      ask(nobody, "nonsense"),
      ask(operator),
    ]);
    expect(bare.status === 401).toBe(!isPublic);
    // An address with a signature needs no token.
    const signed = parametersOf(operation).some(({ name }) => name === "signature");
    expect(bad.status).toBe(signed ? bare.status : 401);
    expect(operators.status === 401).toBe(!isOperators && !signed);
    for (const { status } of [bare, bad, operators]) expect(statuses).toContain(`${status}`);
    if (bare.ok) expect(bare.headers.has("etag")).toBe(statuses.includes("304"));
    await Promise.all([bare, bad, operators].map((response) => response.text()));
  });
});

test("the example of a list's next page has the address of the list", () => {
  const urls = operations.flatMap(({ path, operation }) => {
    const [answer] = successesOf(operation);
    const url = /"next_url":"([^"]*)"/.exec(JSON.stringify(answer ?? {}))?.[1];
    return url === undefined ? [] : [[path, url]];
  });
  expect(Object.fromEntries(urls)).toMatchObject({
    "/predictions": "https://auspex.example.com/v1/predictions?cursor=MDE5ODBjM2U",
    "/models/{model_owner}/{model_name}/versions": expect.stringMatching(
      /example\.com\/v1\/models\/demo\/[\w-]+\/versions\?cursor=/,
    ),
  });
});
