/**
 * Cog models that make pictures: a schema only says that an output is a file, so the names of inputs decide.
 */
import { expect, test } from "vitest";
import { cogCompatibilities } from "../../../src/domain/images/compatibilities.ts";
import type { Json } from "../../../src/protocol/common.ts";

const FILE = { type: "string", format: "uri" };
const FILES = { type: "array", items: FILE };
const TEXT = { type: "string" };
const INTEGER = { type: "integer" };
const SIDES = { width: INTEGER, height: INTEGER };

type Properties = { [name: string]: Json };

function callsOf(
  properties: Properties,
  output: Properties = FILES,
  required: string[] = ["prompt"],
) {
  const input = { type: "object", properties, required };
  const { vendora_images_generations: generates, vendora_images_edits: edits } = cogCompatibilities(
    {
      prediction: { input, output, stream_output: false },
    },
  );
  return { generates, edits };
}

const NONE = { generates: false, edits: false };

test.each<[string, Properties]>([
  ["sides", { prompt: TEXT, ...SIDES }],
  ["a ratio", { prompt: TEXT, aspect_ratio: { enum: ["1:1", "16:9"] } }],
  ["a number of them", { prompt: TEXT, num_outputs: INTEGER }],
  ["formats", { prompt: TEXT, output_format: { enum: ["webp", "jpg", "png"] } }],
  ["sizes", { prompt: TEXT, size: { enum: ["1024x1024", "auto"] } }],
])("a model with %s makes pictures", (_, properties) => {
  expect(callsOf(properties)).toEqual({ generates: true, edits: false });
  expect(callsOf(properties, FILE)).toEqual({ generates: true, edits: false });
});

test.each<[string, Properties, Properties?]>([
  ["text", { prompt: TEXT, ...SIDES }, TEXT],
  ["a file of any kind", { prompt: TEXT, seed: INTEGER }],
  ["moving pictures", { prompt: TEXT, ...SIDES, num_frames: INTEGER, fps: INTEGER }],
  ["moving pictures by their length", { prompt: TEXT, aspect_ratio: TEXT, duration: INTEGER }],
  ["moving pictures in a loop", { prompt: TEXT, aspect_ratio: TEXT, loop: { type: "boolean" } }],
  ["music", { prompt: TEXT, num_outputs: INTEGER, duration: INTEGER }],
  ["speech", { prompt: TEXT, voice: TEXT, output_format: { enum: ["mp3", "wav"] } }],
  ["sound", { prompt: TEXT, output_format: { enum: ["mp3", "png"] } }],
  ["pictures of no text", { image: FILE, ...SIDES }],
])("a model that makes %s is not a picture model", (_, properties, output) => {
  expect(callsOf(properties, output)).toEqual(NONE);
});

test("a model that takes an image edits pictures, and makes none without an image if that is required", () => {
  const properties = { prompt: TEXT, image: FILE, mask: FILE, ...SIDES };
  expect(callsOf(properties)).toEqual({ generates: true, edits: true });
  expect(callsOf(properties, FILES, ["prompt", "image"])).toEqual({
    generates: false,
    edits: true,
  });
  expect(callsOf(properties, FILES, ["prompt", "mask"])).toEqual(NONE);
  expect(callsOf({ prompt: TEXT, input_images: FILES, ...SIDES }).edits).toBe(true);
});
