/** The input that a Cog image model gets for a call, derived from its schema. */
import { expect, test } from "vitest";
import { pictureSchema } from "../../../src/domain/images/picture-schema.ts";
import { imageInput } from "../../../src/domain/openai/image-input.ts";
import { UnfitParameter } from "../../../src/domain/openai/unsupported.ts";
import type { Json } from "../../../src/protocol/common.ts";

const FILE = { type: "string", format: "uri" };
const TEXT = { type: "string" };
const INTEGER = { type: "integer" };

const schemaOf = (properties: { [name: string]: Json }, output: { [name: string]: Json } = FILE) =>
  pictureSchema({
    prediction: {
      input: { type: "object", properties: { prompt: TEXT, ...properties } },
      output,
      stream_output: false,
    },
  });

const asked = (more: { [name: string]: Json } = {}) => ({
  model: "ada/brush",
  prompt: "Hills",
  ...more,
});

function unsupported(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof UnfitParameter) return error.param;
    throw error;
  }
  return "nothing";
}

const FLUX = {
  aspect_ratio: { enum: ["1:1", "16:9", "3:2", "2:3", "9:16"], type: "string" },
  num_outputs: INTEGER,
  seed: { anyOf: [INTEGER, { type: "null" }] },
  output_format: { allOf: [{ $ref: "#/components/schemas/format" }] },
  output_quality: INTEGER,
  guidance: { type: "number" },
  go_fast: { type: "boolean" },
};

test("each parameter goes to its field in the schema", () => {
  const flux = pictureSchema({
    prediction: {
      input: { type: "object", properties: { prompt: TEXT, ...FLUX }, required: ["prompt"] },
      output: { type: "array", items: FILE },
      stream_output: false,
    },
    components: { schemas: { format: { type: "string", enum: ["webp", "jpg", "png"] } } },
  });
  const request = {
    ...asked({ n: 3, size: "1536x1024", seed: 7, output_format: "jpeg", output_compression: 80 }),
    ...{ guidance: "3.5", go_fast: "true", quality: "auto", response_format: "url", user: "u" },
  };
  expect(imageInput(request as ReturnType<typeof asked>, flux)).toEqual({
    prompt: "Hills",
    aspect_ratio: "3:2",
    num_outputs: 3,
    seed: 7,
    output_format: "jpg",
    output_quality: 80,
    guidance: 3.5,
    go_fast: true,
  });
});

test.each<[string, { [name: string]: Json }, { [name: string]: Json } | undefined]>([
  ["512x384", { width: INTEGER, height: INTEGER }, { width: 512, height: 384 }],
  ["512x512", { size: TEXT }, { size: "512x512" }],
  ["512x512", { size: { enum: ["512*512", "1024*1024"] } }, { size: "512*512" }],
  ["512x512", { size: { enum: ["1K", "2K"] } }, undefined],
  ["1792x1024", { aspect_ratio: FLUX.aspect_ratio }, { aspect_ratio: "16:9" }],
  ["1000x400", { aspect_ratio: FLUX.aspect_ratio }, undefined],
  ["1000x400", { aspect_ratio: TEXT }, { aspect_ratio: "5:2" }],
  ["512x512", { width: INTEGER }, undefined],
  ["auto", {}, {}],
])("the size %s for %j is %j", (size, properties, input) => {
  const make = () => imageInput(asked({ size }), schemaOf(properties));
  if (input) expect(make()).toEqual({ prompt: "Hills", ...input });
  else expect(unsupported(make)).toBe("size");
});

test("a size beyond the model's limits is refused by the name of the requested parameter", () => {
  const side = { type: "integer", minimum: 16, maximum: 2048 };
  const schema = schemaOf({ width: side, height: side });
  const make = (size: string) => () => imageInput(asked({ size }), schema);
  expect(make("2048x16")()).toMatchObject({ width: 2048, height: 16 });
  expect(make("2049x16")).toThrow("'size' cannot have a width of 2049: the model supports at most");
  expect(make("2048x15")).toThrow(
    "'size' cannot have a height of 15: the model supports at least 16 pixels.",
  );
  const count = schemaOf({ num_outputs: { type: "integer", minimum: 1, maximum: 4 } });
  expect(imageInput(asked({ n: 4 }), count)).toMatchObject({ num_outputs: 4 });
  expect(() => imageInput(asked({ n: 5 }), count)).toThrow(
    "'n' cannot be 5: the model generates at most 4",
  );
});

test.each<[string, { [name: string]: Json }]>([
  ["n", { n: 2 }],
  ["quality", { quality: "high" }],
  ["background", { background: "transparent" }],
  ["output_format", { output_format: "png" }],
  ["output_compression", { output_compression: 0 }],
  ["seed", { seed: 1 }],
  ["steps", { steps: 4 }],
])("a parameter that would be ignored is refused: %s", (param, more) => {
  expect(unsupported(() => imageInput(asked(more), schemaOf({})))).toBe(param);
});

test("a parameter value that leaves the choice to the model is accepted", () => {
  const request = asked({
    n: 1,
    quality: "standard",
    background: "auto",
    style: null,
    moderation: "low",
  });
  expect(imageInput(request, schemaOf({}))).toEqual({ prompt: "Hills" });
});

test("a value that a choice does not have is refused", () => {
  const schema = schemaOf({ quality: { enum: ["draft", "high"] }, format: { enum: ["webp"] } });
  expect(imageInput(asked({ quality: "high" }), schema)).toMatchObject({ quality: "high" });
  expect(unsupported(() => imageInput(asked({ quality: "low" }), schema))).toBe("quality");
  expect(unsupported(() => imageInput(asked({ output_format: "png" }), schema))).toBe(
    "output_format",
  );
});

test("images go to a field for one or for several", () => {
  const [a, b] = ["https://a.test/1.png", "https://a.test/2.png"] as const;
  const one = schemaOf({ input_image: FILE, mask: FILE });
  expect(imageInput(asked(), one, { images: [a], mask: b })).toEqual({
    prompt: "Hills",
    input_image: a,
    mask: b,
  });
  expect(unsupported(() => imageInput(asked(), one, { images: [a, b] }))).toBe("image");
  const list = schemaOf({ image_input: { type: "array", items: FILE } });
  expect(imageInput(asked(), list, { images: [a, b] })).toMatchObject({ image_input: [a, b] });
  expect(unsupported(() => imageInput(asked(), list, { images: [a], mask: b }))).toBe("mask");
});
