/** The input of Cog models for transcription, and their transcripts in each format. */
import { describe, expect, test } from "vitest";
import {
  type Asked,
  formatted,
  passedOn,
  TranscriptStream,
  transcriptOf,
  withCost,
} from "../../../src/domain/openai/transcript.ts";
import { type HearingCall, hearingInput } from "../../../src/domain/openai/transcription-input.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import { UnfitParameter } from "../../../src/domain/openai/unsupported.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { TranscriptionRequest } from "../../../src/protocol/openai/audio.ts";
import { objections } from "../../published/validate.ts";

const text = { type: "string" };
const uri = { type: "string", format: "uri" };
const task = { enum: ["transcribe", "translate"] };
const FILE = "https://auspex.test/a.wav";

const input = (
  request: Partial<TranscriptionRequest>,
  properties: Record<string, Json>,
  call: HearingCall = "audio_transcriptions",
) =>
  hearingInput(
    call,
    { model: "demo/it", file: FILE, ...request },
    { type: "object", properties: { audio: uri, ...properties }, required: ["audio"] },
  );

const WORDS = {
  response_format: "verbose_json",
  timestamp_granularities: ["word"],
} satisfies Partial<TranscriptionRequest>;

describe("the input", () => {
  test.each<[Partial<TranscriptionRequest>, Record<string, Json>, object]>([
    [{}, {}, {}],
    [{ language: "fr" }, { language: { enum: ["auto", "fr"] } }, { language: "fr" }],
    [{ language: "fr" }, { lang: { enum: ["None", "french"] } }, { lang: "french" }],
    [{ prompt: "Alice" }, { initial_prompt: text }, { initial_prompt: "Alice" }],
    [{ temperature: 0.5 }, { temperature: { type: "number" } }, { temperature: 0.5 }],
    [{ temperature: 0 }, {}, {}],
    [{}, { task }, { task: "transcribe" }],
    [{}, { translate: { type: "boolean" } }, { translate: false }],
    [WORDS, { word_timestamps: { type: "boolean" } }, { word_timestamps: true }],
    [WORDS, { timestamp: { enum: ["chunk", "word"] } }, { timestamp: "word" }],
    [{ ...WORDS, response_format: "json" }, {}, {}],
    [{ stream: true, batch_size: 8 }, { batch_size: { type: "integer" } }, { batch_size: 8 }],
  ])("the transcription input of %j with %j is made", (request, properties, expected) => {
    expect(input(request, properties)).toEqual({ audio: FILE, ...expected });
  });

  test("the input of a translation has the model's field for it", () => {
    expect(input({}, { task }, "audio_translations")).toMatchObject({ task: "translate" });
    const translate = { type: "boolean" };
    expect(input({}, { translate }, "audio_translations")).toMatchObject({ translate: true });
  });

  test.each<[Partial<TranscriptionRequest>, Record<string, Json>, string]>([
    [{ language: "fr" }, {}, "language"],
    [{ language: "xx" }, { language: { enum: ["en"] } }, "language"],
    [{ prompt: "Alice" }, {}, "prompt"],
    [{ temperature: 0.5 }, {}, "temperature"],
    [WORDS, {}, "timestamp_granularities"],
    [{ include: ["logprobs"] }, {}, "include"],
    [{ response_format: "diarized_json" }, {}, "response_format"],
    [{ known_speaker_names: ["Ada"] }, {}, "known_speaker_names"],
  ])("the transcription call %j is refused with %j", (request, properties, param) => {
    expect(() => input(request, properties)).toThrow(expect.objectContaining({ param }));
    expect(() => input(request, properties)).toThrow(UnfitParameter);
  });

  test("a model that does not translate gets no translation call", () => {
    expect(() => input({}, {}, "audio_translations")).toThrow(UnfitParameter);
  });
});

const SEGMENTS = [
  { start: 0, end: 1.5, text: " Down the rabbit hole" },
  { start: 3_661.0425, end: 3_662, text: " she --> went.\n\n" },
];
const WHOLE = {
  transcription: "Down. She went.",
  segments: SEGMENTS,
  detected_language: "english",
};
const WORDY = [{ start: 0, end: 1, text: "Down", words: [{ word: " Down", start: 0, end: 1 }] }];

const read = (outputs: Json[], asked: Partial<Asked> = {}) => {
  const { isTranslation = false } = asked;
  const transcript = transcriptOf(outputs, isTranslation);
  return formatted(transcript, { format: "json", isTranslation, ...asked });
};

describe("a transcript", () => {
  test.each<[string, Json[], object]>([
    ["text", ["Down she went"], { text: "Down she went" }],
    ["pieces of text", ["Down", " she", " went"], { text: "Down she went" }],
    ["no text", [""], { text: "" }],
    [
      "text of an object",
      [{ text: "Down", duration: 2 }],
      { text: "Down", usage: { type: "duration", seconds: 2 } },
    ],
    ["text and segments", [WHOLE], { text: "Down. She went." }],
    ["segments", [SEGMENTS], { text: "Down the rabbit hole she --> went." }],
    [
      "chunks with a pair of times, the last without an end",
      [{ text: "Down", chunks: [{ timestamp: [0, null], text: "Down" }] }],
      { text: "Down", usage: { type: "duration", seconds: 0 } },
    ],
  ])("a transcript of %s is read", (_, outputs, expected) => {
    const answer = read(outputs);
    expect(answer).toMatchObject(expected);
    expect(objections("openai", "CreateTranscriptionResponseJson", answer)).toEqual([]);
  });

  test("a transcript in subtitles has no empty line inside a caption, whatever ends its lines", () => {
    const segments = ["\n\n", "\r\r", "\r\n\r\n"].map((end, n) => {
      return { start: n, end: n + 1, text: `Down${end}she` };
    });
    const lines = read([{ text: "Down she", segments }], { format: "vtt" });
    expect(String(lines).match(/Down\nshe\n/g)).toHaveLength(3);
  });

  test("a transcript is written as subtitles", () => {
    expect(read([WHOLE], { format: "srt" })).toBe(
      "1\n00:00:00,000 --> 00:00:01,500\nDown the rabbit hole\n\n2\n01:01:01,043 --> 01:01:02,000\nshe -> went.\n\n",
    );
    expect(read([WHOLE], { format: "vtt" })).toBe(
      "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nDown the rabbit hole\n\n01:01:01.043 --> 01:01:02.000\nshe -> went.\n\n",
    );
    expect(read([WHOLE], { format: "text" })).toBe("Down. She went.\n");
  });

  test("a transcript is written in full", () => {
    const verbose = read([WHOLE], { format: "verbose_json", temperature: 0.5 });
    expect(verbose).toMatchObject({
      task: "transcribe",
      language: "english",
      duration: 3_662,
      segments: [{ id: 0, temperature: 0.5, tokens: [] }, { id: 1 }],
    });
    expect(objections("openai", "CreateTranscriptionResponseVerboseJson", verbose)).toEqual([]);
  });

  test("a transcript has the words of its segments, or those beside them", () => {
    const granularities = ["word"];
    const words = [{ word: "Down", start: 0, end: 1 }];
    const beside: Json = { text: "Down", segments: [], words };
    for (const output of [{ text: "Down", segments: WORDY }, beside]) {
      const verbose = read([output], { format: "verbose_json", granularities });
      expect(verbose).toMatchObject({ words });
      expect(verbose).not.toHaveProperty("segments");
    }
  });

  test("a transcript of a translation has the translated text", () => {
    const asked = { isTranslation: true };
    expect(read([{ ...WHOLE, translation: "Going" }], asked)).toMatchObject({ text: "Going" });
    const verbose = read([WHOLE], { ...asked, format: "verbose_json" });
    expect(verbose).toMatchObject({ task: "translate", language: "english" });
    expect(objections("openai", "CreateTranslationResponseVerboseJson", verbose)).toEqual([]);
  });

  test.each<[string, Json[], Asked["format"]]>([
    ["that is no text", [5], "json"],
    ["that is an object of something else", [{ label: "dog" }], "json"],
    ["with a segment without times", [[{ text: "Down" }, { text: "she" }]], "json"],
  ])("an output has no transcript: %s", (_, outputs, format) => {
    expect(() => read(outputs, { format, isTranslation: true })).toThrow(TranslationFailed);
  });

  test.each<[string, Json[], Asked["format"]]>([
    ["without them", ["Down"], "srt"],
    ["of what was not translated", [{ ...WHOLE, translation: "Going" }], "vtt"],
  ])("a transcript with times cannot be made: %s", (_, outputs, format) => {
    const refused = expect.objectContaining({ param: "response_format" });
    expect(() => read(outputs, { format, isTranslation: true })).toThrow(refused);
  });
});

describe("what a server has answered", () => {
  const asked = { format: "srt", isTranslation: false } as const;
  const from = (output: Json, format: Asked["format"]) =>
    passedOn(output, () => transcriptOf([output], false), { ...asked, format });

  test("the answer of a server is passed on", () => {
    expect(from("1\n00:00", "srt")).toBe("1\n00:00");
    const own = { text: "Down", logprobs: [], mine: 1 };
    expect(from({ ...own, words: null }, "json")).toEqual(own);
    expect(from(own, "diarized_json")).toEqual(own);
  });

  test("the answer of a server is written in the requested format, if it knows only JSON or only text", () => {
    expect(from({ text: "Down", segments: WORDY }, "srt")).toContain("00:00:01,000");
    expect(from("Down", "json")).toEqual({ text: "Down" });
    expect(from({ text: "Down" }, "text")).toBe("Down\n");
    expect(() => from("Down", "verbose_json")).toThrow(UnfitParameter);
  });
});

describe("a stream", () => {
  const eventsOf = (...outputs: Json[]) => {
    const stream = new TranscriptStream();
    return outputs.flatMap((data) => stream.take({ event: "output", data }));
  };
  const delta = (words: string) => ({ type: "transcript.text.delta", delta: words });

  test.each<[string, Json[], object[]]>([
    ["pieces of text", ["Down", "", " she"], [delta("Down"), delta(" she")]],
    ["a whole", [WHOLE], [delta("Down. She went.")]],
    [
      "events of a server",
      [delta("Down"), { type: "transcript.text.done", text: "Down" }],
      [delta("Down")],
    ],
    [
      "chunks of vLLM",
      [
        { object: "transcription.chunk", choices: [{ delta: { content: "Down" } }] },
        { choices: [] },
      ],
      [delta("Down")],
    ],
  ])("a transcript stream of %s has its events", (_, outputs, expected) => {
    expect(eventsOf(...outputs)).toEqual(expected);
  });

  test("a server's last event comes once, at the end, with the cost in place of the server's", () => {
    const stream = new TranscriptStream();
    const last = { type: "transcript.text.done", text: "" };
    const usage = { type: "duration", seconds: 2 };
    const data = { ...last, usage: { ...usage, cost: 3, cost_details: {} } };
    expect(stream.take({ event: "output", data })).toEqual([]);
    const cost = { amount: "0.5", currency: "USD", parts: [] };
    const done = { event: "done", data: { status: "succeeded", cost } };
    expect(stream.take(done)).toEqual([{ ...last, usage: { ...usage, cost: 0.5 } }]);
  });

  test("a whole transcript has its cost only in a usage", () => {
    const cost = { amount: "0.5", currency: "USD", parts: [] };
    expect(withCost({ text: "a" }, cost)).toEqual({ text: "a" });
    expect(withCost({ text: "a", usage: { seconds: 2, cost: 3 } }, cost)).toEqual({
      text: "a",
      usage: { seconds: 2, cost: 0.5 },
    });
  });
});
