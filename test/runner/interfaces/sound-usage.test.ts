import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../src/protocol/runner.ts";
import { soundUsage } from "../../../src/run/sound-usage.ts";
import { wavOf } from "../../support/wav.ts";
import { record } from "../support/containers.ts";

/** Returns the metrics of a run with these outputs. */
async function metricsOf(call: OpenAiCall, input: Record<string, Json>, outputs: Json[]) {
  const reporter = record();
  const usage = soundUsage(reporter, call, input, () => undefined);
  for (const output of outputs) usage?.output(output);
  await usage?.settle();
  expect(reporter.of("output")).toEqual(outputs);
  return reporter.of("metrics");
}

const WAV = wavOf(2);
const FILE = { file: `data:audio/wav;base64,${WAV.toString("base64")}` };
const piece = (bytes: Buffer) => ({ type: "speech.audio.delta", audio: bytes.toString("base64") });

describe("speech", () => {
  test("speech in WAV has its seconds, in whatever pieces it comes", async () => {
    const outputs = [WAV.subarray(0, 10), WAV.subarray(10, 60), WAV.subarray(60)].map(piece);
    expect(await metricsOf("audio_speech", {}, outputs)).toEqual([{ audio_seconds: 2 }]);
  });

  test("speech that is cut has the seconds that came", async () => {
    const outputs = [piece(WAV.subarray(0, 44 + 8_000))];
    expect(await metricsOf("audio_speech", {}, outputs)).toEqual([{ audio_seconds: 1 }]);
  });

  test("speech in another format is not counted", async () => {
    const outputs = [piece(Buffer.from("ID3\x03"))];
    expect(await metricsOf("audio_speech", {}, outputs)).toEqual([]);
  });
});

describe("a transcript", () => {
  test.each<[string, Json, number]>([
    ["its usage", { text: "a", duration: 5, usage: { type: "duration", seconds: 4 } }, 4],
    ["its duration", { text: "a", duration: 5, usage: { type: "tokens" } }, 5],
  ])("a transcript counts the seconds of %s", async (_, output, seconds) => {
    const input = { file: "data:audio/mpeg;base64,SUQz" };
    expect(await metricsOf("audio_transcriptions", input, [output])).toEqual([
      { audio_seconds: seconds },
    ]);
  });

  test("the header of a WAV file counts more than what the answer says", async () => {
    const output = { text: "a", usage: { type: "duration", seconds: 400 } };
    expect(await metricsOf("audio_translations", FILE, [output])).toEqual([{ audio_seconds: 2 }]);
  });

  test("no seconds count without an answer", async () => {
    expect(await metricsOf("audio_transcriptions", FILE, [])).toEqual([]);
  });

  test("no seconds count for a chat", () => {
    expect(soundUsage(record(), "chat_completions", FILE, () => undefined)).toBeUndefined();
  });
});
