/**
 * Cog models with audio compatibilities (speech and transcription), told from other models by their schemas.
 */
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
