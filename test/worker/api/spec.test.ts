/** The document compared with the contract: every endpoint, parameter, limit and field. */
import { describe, expect, test } from "vitest";
import { operationsIn } from "../../../src/openapi/document.ts";
import {
  type Document,
  isBinary,
  isInline,
  type Operation,
  refName,
  resolveSchema,
  type Schema,
} from "../../../src/openapi/types.ts";
import { ENDPOINTS, type Expected, PATH_PARAMETERS } from "../support/contract.ts";
import {
  bodyOf,
  bytesOf,
  documentIn,
  parametersOf,
  schemaNamed,
  schemasOf,
  successesOf,
} from "../support/document.ts";
import { ENUMS, ENVELOPE, FORMS, OPTIONAL, SHAPED } from "../support/forms.ts";

const shapes = { A: await documentIn("A"), B: await documentIn("B") };
const document = shapes.A;
const schemas = schemasOf(document);
const operations = new Map<string, Operation>(
  operationsIn(document).map(({ method, path, operation }) => [
    `${method.toUpperCase()} ${path}`,
    operation,
  ]),
);

/** Returns a schema in the words of the tables above: `uuid`, `string?`, `Model[]`. */
function typeOf(schema: Schema): string {
  const name = refName(schema);
  if (name !== undefined) return name;
  if (!isInline(schema)) return "";
  if (schema.anyOf) return schema.anyOf.map(typeOf).join("|").replace("|null", "?");
  const types = [schema.type ?? []].flat();
  if (types.length === 0 || types.length > 2) return "any";
  const nullable = types[1] === "null" ? "?" : "";
  if (schema.items) return `${typeOf(schema.items)}[]${nullable}`;
  return (schema.format ?? types[0]) + nullable;
}

const typesOf = (schema: Schema, of: Document = document): Record<string, string> =>
  Object.fromEntries(
    Object.entries(resolveSchema(schema, schemasOf(of)).properties ?? {}).map(([name, part]) => [
      name,
      typeOf(part),
    ]),
  );

/** Returns the form of an answer in the words of the tables above. */
function formOf([type, schema = {}]: [string, Schema | undefined]): string {
  if (type === "text/event-stream") return "events";
  if (isBinary(schema)) return "bytes";
  const { items, ...envelope } = typesOf(schema);
  if (items === undefined) return typeOf(schema);
  expect(envelope).toEqual(ENVELOPE);
  return `page of ${items.replace("[]", "")}`;
}

test("the document has these endpoints, and those of the operator", () => {
  const documented = [...operations.keys()].filter((name) => !name.includes(" /operator/"));
  expect(documented.toSorted()).toEqual(Object.keys(ENDPOINTS).toSorted());
});

describe.each(Object.entries(ENDPOINTS))("%s", (name, endpoint) => {
  const { query, headers, body, bytes, answers } = endpoint;
  const operation = operations.get(name) ?? {};
  const parameters = parametersOf(operation);

  /** Expects the parameters of one place to be exactly these. */
  function hold(where: string, expected: Record<string, Expected>, ignored: string[] = []) {
    const found = parameters.filter((one) => one.in === where && !ignored.includes(one.name));
    expect(found.map((one) => one.name).toSorted()).toEqual(Object.keys(expected).toSorted());
    for (const { name: parameter, required, schema = {} } of found) {
      const { required: mustBe = where === "path", ...limits } = expected[parameter] ?? {};
      expect([parameter, required]).toEqual([parameter, mustBe]);
      expect([parameter, schema]).toEqual([parameter, expect.objectContaining(limits)]);
    }
  }

  test("an endpoint takes these parameters, within these limits", () => {
    const inPath = [...name.matchAll(/{(\w+)}/g)].map(([, found = ""]) => found);
    hold("path", Object.fromEntries(inPath.map((one) => [one, PATH_PARAMETERS[one] ?? {}])));
    hold("query", query ?? {});
    hold("header", headers ?? {}, ["if-none-match"]);
  });

  test("an endpoint takes this body", () => {
    const schema = bodyOf(operation);
    expect(schema !== undefined).toBe(body !== undefined);
    expect(bytesOf(operation)).toBe(bytes);
    if (!schema || !body) return;
    const { required = [], properties = {} } = resolveSchema(schema, schemas);
    expect(required.toSorted()).toEqual(body.required.toSorted());
    for (const [field, expected] of Object.entries(body.fields)) {
      const { default: preset, ...limits } = expected;
      // The description states the default: `default` makes a field required in generated clients.
      const said = `\`${JSON.stringify(preset)}\` by default`;
      const description = expect.stringContaining(said);
      const wanted = preset === undefined ? limits : { ...limits, description };
      expect([field, properties[field]]).toEqual([field, expect.objectContaining(wanted)]);
    }
  });

  test("an endpoint answers in these forms", () => {
    const found = successesOf(operation)
      .filter(([status]) => status !== "304")
      .map(([status, { content = {} }]) => [
        status,
        Object.entries(content).map(([type, { schema }]) => formOf([type, schema])),
      ]);
    expect(Object.fromEntries(found)).toEqual(answers);
    expect(Object.keys(operation.responses ?? {})).toContain("422");
  });
});

describe.each(Object.entries(FORMS))("%s", (name, fields) => {
  test("a schema has these fields", () => {
    expect(typesOf(schemaNamed(document, name))).toEqual(fields);
  });

  test("a schema always has its fields, except for the optional ones", () => {
    const { required = [] } = schemaNamed(document, name);
    const optional = OPTIONAL[name] ?? [];
    const always = Object.keys(fields).filter((field) => !optional.includes(field));
    expect(required.toSorted()).toEqual(always.toSorted());
  });
});

test.each(["A", "B"] as const)("owners and users of shape %s have these fields", (shape) => {
  for (const [name, fields] of Object.entries(SHAPED[shape])) {
    const schema = schemaNamed(shapes[shape], name);
    expect(typesOf(schema, shapes[shape])).toEqual(fields);
    expect(schema.required?.toSorted()).toEqual(Object.keys(fields).toSorted());
  }
});

test.each(Object.entries(ENUMS))("the enum %s has these values", (name, values) => {
  expect(schemaNamed(document, name).enum).toEqual(values);
});

test("a prediction has its model, and a version its schemas, as nested objects", () => {
  const { properties: prediction = {} } = schemaNamed(document, "Prediction");
  expect(typesOf(prediction.model ?? {})).toEqual({
    owner: "string",
    name: "string",
    version_number: "integer",
  });
  const { properties: of = {} } = schemaNamed(document, "Schemas");
  expect(typesOf(of.prediction ?? {})).toEqual({
    input: "object",
    output: "object",
    stream_output: "boolean",
  });
});
