import { expect, test } from "vitest";
import { outputModalityOf } from "../../../src/domain/models/output-modality.ts";
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
])("a version makes %s where its output is %j", (makes, output) => {
  expect(outputModalityOf(version(output), "thing")).toBe(makes);
});

test("the APIs that a version answers come before its schemas", () => {
  const can = { vendora_audio_speech: true };
  expect(outputModalityOf(version({ type: "string" }, {}, can), "thing")).toBe("sound");
});

test("the kind of an output file follows from the model's name, then from its inputs", () => {
  const input = { properties: { photo: file } };
  expect(outputModalityOf(version(file, input), "thing")).toBe("pictures");
  expect(outputModalityOf(version(file, input), "photo-to-video")).toBe("video");
  expect(
    outputModalityOf(version(file, { properties: { photo: { type: "string" } } }), "thing"),
  ).toBe("files");
});

test("references in an output schema are followed", () => {
  const output = {
    $ref: "#/components/schemas/Output",
    components: { schemas: { Output: { type: "string" } } },
  };
  expect(outputModalityOf(version(output), "thing")).toBe("text");
});
