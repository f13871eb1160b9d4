/** The input of Cog models for speech, and the sound in their outputs. */
import { describe, expect, test } from "vitest";
import {
  formatOf,
  speechInput,
  speechParts,
  typeOfSound,
  wavPart,
} from "../../../src/domain/openai/speech.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import { UnfitParameter } from "../../../src/domain/openai/unsupported.ts";
import type { Json } from "../../../src/protocol/common.ts";

const text = { type: "string" };

const input = (request: object, properties: Record<string, Json>) =>
  speechInput(
    { model: "demo/it", input: "Hello", ...request },
    { type: "object", properties: { text, ...properties }, required: ["text"] },
  );

describe("the input", () => {
  test.each<[object, Record<string, Json>, object]>([
    [{ voice: "alloy" }, { voice: text }, { voice: "alloy" }],
    [{ voice: { id: "voice_1" } }, { speaker: text }, { speaker: "voice_1" }],
    [{ voice: "Alloy" }, { voice: { enum: ["alloy", "ash"] } }, { voice: "alloy" }],
    [{ voice: "alloy" }, {}, {}],
    [{ speed: 1.5 }, { speaking_rate: { type: "number" } }, { speaking_rate: 1.5 }],
    [{ speed: 1 }, {}, {}],
    [
      { response_format: "wav" },
      { output_format: { enum: ["mp3", "WAV"] } },
      { output_format: "WAV" },
    ],
    [{ response_format: "wav" }, {}, {}],
    [{ instructions: "Whisper" }, { style: text }, { style: "Whisper" }],
    [{ stream_format: "sse", seed: 5, top_k: null }, { seed: { type: "integer" } }, { seed: 5 }],
  ])("the speech input of %j with %j is made", (request, properties, expected) => {
    expect(input(request, properties)).toEqual({ text: "Hello", ...expected });
  });

  test("the text of a speech call goes to the model's text field", () => {
    const schema = { type: "object", properties: { prompt: text }, required: ["prompt"] };
    expect(speechInput({ model: "demo/it", input: "Hi" }, schema)).toEqual({ prompt: "Hi" });
  });

  test.each<[object, Record<string, Json>, string, string]>([
    [{ voice: "nova" }, { voice: { enum: ["a", "b"] } }, "voice", "'a', 'b'"],
    [{ response_format: "mp3" }, { format: { enum: ["wav"] } }, "response_format", "'wav'"],
    [{ speed: 2 }, {}, "speed", "does not have 'speed'"],
    [{ instructions: "Whisper" }, {}, "instructions", "does not have 'instructions'"],
  ])("the speech call %j is refused with %j", (request, properties, param, words) => {
    const refused = expect.objectContaining({ param, message: expect.stringContaining(words) });
    expect(() => input(request, properties)).toThrow(refused);
    expect(() => input(request, properties)).toThrow(UnfitParameter);
  });
});

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const url = (id: string) => `https://auspex.test/v1/files/${id}/x-a%20b.wav?expires=1`;
const bytes = (sound: string, type?: string) => ({
  kind: "bytes",
  bytes: new TextEncoder().encode(sound),
  type,
});
const file = { kind: "file", name: "x-a b.wav" };
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };

describe("the sound of an output", () => {
  test.each<[Json, object[]]>([
    [url(ID), [file]],
    [
      [url(ID), [url(ID)]],
      [file, file],
    ],
    [{ audio_out: url(ID), prompt_npz: "https://x.test" }, [file]],
    ["aGk=", [bytes("hi")]],
    [
      { type: "speech.audio.delta", audio: "aGk=", content_type: "audio/mpeg" },
      [bytes("hi", "audio/mpeg")],
    ],
    [{ type: "speech.audio.done", usage }, [{ kind: "usage", usage }]],
    [{ type: "speech.audio.done" }, []],
    [null, []],
  ])("the sound of the output %j is found", (output, expected) => {
    expect([...speechParts(ID, output)]).toEqual(expected);
  });

  test.each<[string, Json]>([
    ["of another prediction", url("01980c3e-7b0a-7c5e-9d52-000000000000")],
    ["from elsewhere", "https://x.test/a.wav"],
    ["whose name is not encoded", `https://x.test/v1/files/${ID}/%ZZ`],
    ["that is a number", 5],
    ["that has none", { text: "hi" }],
  ])("an output has no sound: %s", (_, output) => {
    expect(() => [...speechParts(ID, output)]).toThrow(TranslationFailed);
  });
});

test.each([
  ["audio/mpeg", "mp3"],
  ["audio/x-wav", "wav"],
  ["Audio/WAVE", "wav"],
  ["audio/ogg; codecs=opus", "opus"],
  ["audio/pcm;rate=16000", "pcm"],
  ["audio/aac", "aac"],
  ["audio/x-flac", "flac"],
  ["application/octet-stream", undefined],
  ["video/mp4", undefined],
])("the media type %s is the format %s", (type, format) => expect(formatOf(type)).toBe(format));

test.each([
  ["RIFF\0\0\0\0WAVEfmt ", "audio/wav"],
  ["OggS\0", "audio/ogg"],
  ["ID3\x03", "audio/mpeg"],
  ["\xff\xfb\x90", "audio/mpeg"],
  ["hello", "application/octet-stream"],
  ["", "application/octet-stream"],
])("bytes that begin with %j have the type %s", (head, type) => {
  expect(typeOfSound(Uint8Array.from(head, (sign) => sign.charCodeAt(0)))).toBe(type);
});

describe("WAV files one after the other", () => {
  /** Returns a WAV file with the chunk `more` before the samples. */
  const wav = (samples: string, more = "") => {
    const head = Buffer.from(`RIFF\x24\0\0\0WAVE${more}data\x04\0\0\0`, "latin1");
    return Buffer.concat([head, Buffer.from(samples)]);
  };

  test("WAV files in a row become one file of unknown length", () => {
    const first = Buffer.from(wavPart(wav("abcd"), "audio/wav", true)).toString("latin1");
    expect(first).toBe("RIFF\xff\xff\xff\xffWAVEdata\xff\xff\xff\xffabcd");
    const next = wavPart(wav("efgh", "LIST\x03\0\0\0xyz\0"), "audio/wav", false);
    expect(Buffer.from(next).toString()).toBe("efgh");
  });

  test("a WAV file without samples is refused", () => {
    expect(() => wavPart(Buffer.from("RIFF"), "audio/wav", true)).toThrow(TranslationFailed);
  });

  test("other formats are joined as they are", () => {
    expect(wavPart(wav("abcd"), "audio/mpeg", false)).toEqual(wav("abcd"));
  });
});
