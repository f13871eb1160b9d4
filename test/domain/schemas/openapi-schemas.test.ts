/** Schemas of OpenAPI 3.0 that a client sends as those of a version. */
import { describe, expect, test } from "vitest";
import { checkVersionSchemas, validateInput } from "../../../src/domain/schemas/json-schema.ts";
import { upgradedVersionSchemas } from "../../../src/domain/schemas/openapi-schemas.ts";
import { rootKeywords, versionSchema } from "../../../src/domain/schemas/version-schemas.ts";
import type { Schemas } from "../../../src/protocol/model.ts";

/** Schemas like those in the `openapi.json` of Cog. */
const COG: Schemas = {
  prediction: {
    input: { $ref: "#/components/schemas/Input" },
    output: { $ref: "#/components/schemas/Output" },
    stream_output: false,
  },
  components: {
    schemas: {
      Input: {
        type: "object",
        title: "Input",
        required: ["prompt"],
        properties: {
          prompt: { type: "string", title: "Prompt", "x-order": 0 },
          seed: { type: "integer", nullable: true, "x-order": 1 },
          scale: { type: "number", minimum: 0, exclusiveMinimum: true, maximum: 1 },
          style: { allOf: [{ $ref: "#/components/schemas/style" }], nullable: true },
          size: { anyOf: [{ type: "integer" }, { type: "string" }], nullable: true },
          nullable: { type: "boolean", default: false },
        },
      },
      Output: { type: "string", format: "uri", nullable: true },
      style: { type: "string", enum: ["ink", "oil"] },
    },
  },
};

describe("the schemas of Cog, unchanged", () => {
  const schemas = upgradedVersionSchemas(COG);
  const input = versionSchema(schemas, "input");
  const check = (given: object) => () => validateInput(input, { prompt: "a", ...given });

  test("the unchanged schemas of Cog are accepted", () =>
    expect(() => checkVersionSchemas(schemas)).not.toThrow());

  test.each([
    { seed: null },
    { style: null },
    { size: null },
    { seed: 1, style: "oil", size: "a" },
    { scale: 0.5 },
    { nullable: true },
  ])("the unchanged schemas of Cog accept %j", (given) => expect(check(given)).not.toThrow());

  test.each([{ seed: "a" }, { style: "chalk" }, { size: true }, { scale: 0 }, { nullable: null }])(
    "the unchanged schemas of Cog refuse %j",
    (given) => expect(check(given)).toThrow(),
  );
});

test("schemas in JSON Schema 2020-12 stay the same object", () => {
  const own: Schemas = {
    prediction: {
      input: {
        type: "object",
        properties: { a: { type: ["integer", "null"], exclusiveMinimum: 0, example: 1 } },
        default: { nullable: true },
      },
      output: {},
      stream_output: false,
    },
  };
  expect(upgradedVersionSchemas(own)).toBe(own);
});

const Size = { enum: ["small", "large"] };
const Input = { type: "object", properties: { size: { $ref: "#/components/schemas/Size" } } };

const given = (prediction: object, components?: Schemas["components"]): Schemas => ({
  prediction: { input: {}, output: {}, stream_output: false, ...prediction },
  ...(components && { components }),
});

test("a schema without components is as it was published", () => {
  const schemas = given({ input: Input });
  expect(versionSchema(schemas, "input")).toBe(schemas.prediction.input);
});

test("a schema with components includes them, and stays the same object", () => {
  const schemas = given({ input: Input }, { schemas: { Size } });
  expect(versionSchema(schemas, "input")).toEqual({ ...Input, components: { schemas: { Size } } });
  expect(versionSchema(schemas, "output")).toEqual({ components: { schemas: { Size } } });
  expect(versionSchema(schemas, "input")).toBe(versionSchema(schemas, "input"));
});

test("components of the schema itself take precedence", () => {
  const own = { schemas: { Size: { enum: ["huge"] } } };
  const schemas = given({ input: { ...Input, components: own } }, { schemas: { Size, Input } });
  expect(versionSchema(schemas, "input").components).toEqual({
    schemas: { Size: { enum: ["huge"] }, Input },
  });
});

test("the root of a schema that is a reference is the schema that it refers to", () => {
  const input = { $ref: "#/components/schemas/Input" };
  expect(rootKeywords(given({ input }, { schemas: { Input, Size } }), "input")).toMatchObject(
    Input,
  );
});
