import { expect, test } from "vitest";
import { rootKeywords, versionSchema } from "../../../src/domain/schemas/version-schemas.ts";
import type { Schemas } from "../../../src/protocol/model.ts";

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
