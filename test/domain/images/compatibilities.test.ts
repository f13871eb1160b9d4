/** Cog models with the calls of audio, told from other models by their schemas. */
import { describe, expect, test } from "vitest";
import { cogCompatibilities } from "../../../src/domain/images/compatibilities.ts";
import type { Json } from "../../../src/protocol/common.ts";

type Properties = Record<string, Json>;

const text = { type: "string" };
const uri = { type: "string", format: "uri" };
const number = { type: "number", default: 1 };
const files = { type: "array", items: uri, "x-cog-array-type": "iterator" };
const said = (description: string, part: object = text) => ({ ...part, description });

const flagsOf = (properties: Properties, required: string[], output: Properties) => {
  const compatibilities = cogCompatibilities({
    prediction: { input: { type: "object", properties, required }, output, stream_output: false },
  });
  return Object.entries(compatibilities)
    .filter(([, can]) => can)
    .map(([flag]) => flag.replace("vendora_audio_", ""));
};

const segments = { type: "array", items: { type: "object" } };
const WHISPER = {
  type: "object",
  properties: { segments, transcription: text, detected_language: text },
};

describe("a model speaks", () => {
  test.each<[string, Properties, string[], Properties]>([
    ["with a voice", { text, voice: text }, ["text"], uri],
    ["with a speaker, who is demanded", { text, speaker: text }, ["text", "speaker"], uri],
    ["with a choice of voices", { prompt: text, voice: { enum: ["a", "b"] } }, ["prompt"], uri],
    ["and says so", { text: said("Text to speak") }, ["text"], uri],
    ["and says so of its output", { text }, ["text"], said("The narration", uri)],
    ["in several files", { text, voice: text }, ["text"], files],
    [
      "beside another file",
      { prompt: text, history_prompt: text },
      ["prompt"],
      { type: "object", properties: { audio_out: uri, prompt_npz: uri } },
    ],
  ])("a model that speaks is recognized %s", (_, properties, required, output) => {
    expect(flagsOf(properties, required, output)).toEqual(["speech"]);
  });

  test.each<[string, Properties, string[], Properties]>([
    ["music", { prompt: said("The music you want"), duration: number }, ["prompt"], uri],
    ["a picture with a voice", { prompt: text, voice: text, width: number }, ["prompt"], uri],
    ["a talking head", { text, voice: text, image: uri }, ["text", "image"], uri],
    ["a cloned voice", { text, speaker: uri }, ["text", "speaker"], uri],
    ["text", { prompt: text, voice: text }, ["prompt"], text],
    ["a choice of texts", { text: { enum: ["a"] }, voice: text }, ["text"], uri],
  ])(
    "a model that makes %s is not taken for one that speaks",
    (_, properties, required, output) => {
      expect(flagsOf(properties, required, output)).not.toContain("speech");
    },
  );
});

describe("a model writes down speech", () => {
  test.each<[string, Properties, string[], Properties, string[]]>([
    ["in segments", { audio: uri }, ["audio"], WHISPER, []],
    ["in a language", { audio_file: uri, language: text }, ["audio_file"], text, []],
    ["and says so", { audio: said("Speech to transcribe", uri) }, ["audio"], text, []],
    ["from any file", { file: said("An audio file", uri), lang: text }, ["file"], text, []],
    [
      "or translates it",
      { audio: uri, task: { enum: ["transcribe", "translate"] } },
      ["audio"],
      WHISPER,
      ["translations"],
    ],
    [
      "or is switched to translation",
      { audio: uri, translate: { type: "boolean" } },
      ["audio"],
      WHISPER,
      ["translations"],
    ],
  ])(
    "a model that writes down speech is recognized: %s",
    (_, properties, required, output, more) => {
      expect(flagsOf(properties, required, output)).toEqual(["transcriptions", ...more]);
    },
  );

  test.each<[string, Properties, string[], Properties]>([
    ["a classifier of sounds", { audio: uri }, ["audio"], text],
    ["a question about it", { audio: uri, prompt: text }, ["audio", "prompt"], text],
    ["another sound", { audio: uri, language: text }, ["audio"], uri],
    ["text in a picture", { file: said("A scan", uri), language: text }, ["file"], text],
    ["a picture", { image: uri, language: text }, ["image"], text],
    ["a text", { audio: text, language: text }, ["audio"], text],
  ])(
    "a model is not taken for one that writes down speech: %s",
    (_, properties, required, output) => {
      expect(flagsOf(properties, required, output)).not.toContain("transcriptions");
    },
  );
});

const FILE = { type: "string", format: "uri" };
const FILES = { type: "array", items: FILE };
const TEXT = { type: "string" };
const INTEGER = { type: "integer" };
const SIDES = { width: INTEGER, height: INTEGER };

function callsOf(
  properties: Properties,
  output: Properties = FILES,
  required: string[] = ["prompt"],
) {
  const input = { type: "object", properties, required };
  const { vendora_images_generations: generates, vendora_images_edits: edits } = cogCompatibilities(
    { prediction: { input, output, stream_output: false } },
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
