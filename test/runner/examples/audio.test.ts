// The example that speaks and the example that transcribes speech, as real processes.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Example, examplesFolder, type State, startExample } from "../support/example.ts";

let crier: Example;
let listener: Example;

beforeAll(async () => {
  [crier, listener] = await Promise.all([
    startExample(join(examplesFolder, "text-to-speech")),
    startExample(join(examplesFolder, "speech-to-text")),
  ]);
});
afterAll(() => Promise.all([crier.stop(), listener.stop()]));

interface Heard extends State {
  output: {
    text: string;
    duration: number;
    segments: { start: number; end: number; text: string; words?: { word: string }[] }[];
  };
}

const say = (input: object) =>
  crier.send<State & { output: string }>("POST", "/predictions", { input });

const hear = (input: object) => listener.send<Heard>("POST", "/predictions", { input });

async function spoken(input: object): Promise<string> {
  const { body } = await say(input);
  expect(body.status).toBe("succeeded");
  return body.output;
}

const PANGRAM = "The quick brown fox jumps over the lazy dog. Pack my box, with five jugs!";
const WRITTEN = "the quick brown fox jumps over the lazy dog. pack my box, with five jugs.";

describe("a text spoken by one", () => {
  it.each([
    ["low", 1],
    ["high", 1],
    ["low", 2],
    ["high", 0.5],
  ])("a text in the voice %s at the speed %d is transcribed", async (voice, speed) => {
    const audio = await spoken({ text: PANGRAM, voice, speed });
    const { body } = await hear({ audio });
    expect(body).toMatchObject({ status: "succeeded", output: { text: WRITTEN } });
    const [first, second] = body.output.segments;
    expect(first?.text).toBe("the quick brown fox jumps over the lazy dog.");
    expect(second?.start).toBeGreaterThan(first?.end ?? Number.NaN);
    expect(second?.end).toBeLessThan(body.output.duration);
  });

  it("a text is spoken the same each time", async () => {
    expect(await spoken({ text: "Alice" })).toBe(await spoken({ text: "Alice" }));
  });

  it("a text with digits and accents is spoken as far as possible, and each word has its time", async () => {
    const audio = await spoken({ text: "Café №7 – ¡olé!" });
    const { body } = await hear({ audio, word_timestamps: true });
    expect(body.output.text).toBe("cafe seven ole.");
    const words = body.output.segments.flatMap((segment) => segment.words ?? []);
    expect(words.map(({ word }) => word)).toEqual(["cafe", "seven", "ole"]);
  });

  it("a text is spoken as a WAV file, or as its samples", async () => {
    const bytes = (uri: string) => Buffer.from(uri.split(",")[1] ?? "", "base64");
    const wav = await spoken({ text: "Alice" });
    const pcm = await spoken({ text: "Alice", response_format: "pcm" });
    expect(wav).toMatch(/^data:audio\/wav;base64,/);
    expect(pcm).toMatch(/^data:audio\/pcm;rate=16000;base64,/);
    expect(bytes(wav).subarray(44)).toEqual(bytes(pcm));
  });
});

describe("what cannot be", () => {
  it.each(["日本", "?!"])("a text that cannot be spoken is refused: %s", async (text) => {
    const { body } = await say({ text });
    expect(body).toMatchObject({
      status: "failed",
      error: expect.stringContaining("no Latin letters"),
    });
  });

  it.each([
    ["data:text/plain;base64,aGk=", "not a WAV file"],
    ["data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAIAgD4AAAB9AAACABAAZGF0YQAAAAA=", "mono"],
  ])("a sound that cannot be transcribed is refused: %s", async (audio, words) => {
    const { body } = await hear({ audio });
    expect(body).toMatchObject({ status: "failed", error: expect.stringContaining(words) });
  });

  it("a silent sound has an empty transcript", async () => {
    const audio =
      "data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YQAAAAA=";
    const { body } = await hear({ audio });
    expect(body.output).toEqual({ text: "", duration: 0, segments: [] });
  });
});
