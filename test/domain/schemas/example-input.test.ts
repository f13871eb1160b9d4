/** What stands in commands and samples in the place of an input. */
import { expect, test } from "vitest";
import { exampleInput } from "../../../src/domain/schemas/example-input.ts";

const file = (description = "") => ({ type: "string", format: "uri", description });

test("has the defaults, and something for what is required", () => {
  const schema = {
    required: ["prompt", "count"],
    properties: {
      prompt: { type: "string" },
      count: { type: "integer", minimum: 3 },
      fast: { type: "boolean", default: false },
      style: { type: "string" },
    },
  };
  expect(exampleInput(schema)).toEqual({ prompt: "some text", count: 3, fast: false });
});

test("has small files in it, so that a command works as it stands", () => {
  const properties = { image: file(), from: file("The sound to write down"), other: file() };
  const input = exampleInput({ required: Object.keys(properties), properties });
  const bytes = (address: unknown) => Buffer.from(String(address).split(",")[1] ?? "", "base64");
  expect(bytes(input.image).subarray(1, 4).toString()).toBe("PNG");
  expect(bytes(input.from).subarray(8, 12).toString()).toBe("WAVE");
  expect(input.other).toBe("https://example.com/file");
});
