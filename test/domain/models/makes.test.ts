import { expect, test } from "vitest";
import { makesOf } from "../../../src/domain/models/makes.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { type Compatibilities, newCompatibilities } from "../../../src/protocol/model.ts";

type JsonSchema = Record<string, Json>;

const version = (
  output: JsonSchema,
  input: JsonSchema = {},
  can: Partial<Compatibilities> = {},
) => ({
  schemas: { prediction: { input, output, stream_output: false } },
  compatibilities: newCompatibilities.parse(can),
});

const file = { type: "string", format: "uri" };
const numbers = { type: "array", items: { type: "number" } };

test.each<[string | undefined, JsonSchema]>([
  ["text", { type: "string" }],
  ["text", { type: "array", items: { type: "string" }, "x-cog-array-type": "iterator" }],
  ["files", file],
  ["pictures", { ...file, title: "Depth map" }],
  ["sound", { type: "array", items: { ...file, description: "The songs" } }],
  ["embeddings", numbers],
  ["embeddings", { type: "array", items: numbers }],
  ["data", { type: "object" }],
  ["data", { type: "boolean" }],
  ["data", { type: "array", items: { type: "object" } }],
  [undefined, {}],
])("%s is made where the output is %j", (makes, output) => {
  expect(makesOf(version(output), "thing")).toBe(makes);
});

test("the APIs that it answers come before its schemas", () => {
  const can = { vendora_audio_speech: true };
  expect(makesOf(version({ type: "string" }, {}, can), "thing")).toBe("sound");
});

test("what a file is, its model's name says, and then what goes in", () => {
  const input = { properties: { photo: file } };
  expect(makesOf(version(file, input), "thing")).toBe("pictures");
  expect(makesOf(version(file, input), "photo-to-video")).toBe("video");
  expect(makesOf(version(file, { properties: { photo: { type: "string" } } }), "thing")).toBe(
    "files",
  );
});

test("references are followed", () => {
  const output = {
    $ref: "#/components/schemas/Output",
    components: { schemas: { Output: { type: "string" } } },
  };
  expect(makesOf(version(output), "thing")).toBe("text");
});
