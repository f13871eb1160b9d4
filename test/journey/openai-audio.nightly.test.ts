/**
 * Speech in both directions by the official client: of Cog models, and of a server with the convention's own
 * endpoints.
 */
import { createHash } from "node:crypto";
import OpenAI, { BadRequestError, toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { objections } from "../published/validate.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

const CRIER = `${USERNAME}/text-to-speech`;
const LISTENER = `${USERNAME}/speech-to-text`;
const CHANTER = `${USERNAME}/chanter`;

let world: World;
let openai: OpenAI;
/** A client whose connection breaks as it does at Cloudflare's edge. */
let leaver: OpenAI;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 8 });
  openai = new OpenAI({
    apiKey: world.access.token,
    baseURL: `${world.access.url}/v1/vendora`,
    maxRetries: 0,
  });
  const { url } = await world.relay();
  leaver = openai.withOptions({ baseURL: `${url}/v1/vendora` });
});
afterAll(() => world.close());

const predictionIn = ({ headers }: Response) => z.uuid().parse(headers.get("auspex-prediction-id"));

/** Returns the data of a stream's events. */
async function eventsOf(response: Response): Promise<z.infer<typeof event>[]> {
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => event.parse(JSON.parse(data)));
}
const event = z.looseObject({ type: z.string(), audio: z.string().optional() });

/** Checks an event against the published schema of its type. */
function expectEvent({ type, ...rest }: { type: string }) {
  const name = type.replace(/(?:^|\.)(\w)/g, (_, letter: string) => letter.toUpperCase());
  expect(objections("openai", `${name}Event`, { type, ...rest })).toEqual([]);
}

const soundOf = (events: { audio?: string | undefined }[]) =>
  Buffer.concat(events.map(({ audio = "" }) => Buffer.from(audio, "base64")));

const WORDS = "The Queen, she sighed. Off with his head!";
const WRITTEN = "the queen, she sighed. off with his head.";

describe("a Cog model that speaks", () => {
  const speak = (more: object = {}) =>
    openai.audio.speech.create({ model: CRIER, input: WORDS, voice: "low", ...more });

  it("a Cog model speaks, and another understands it", async () => {
    const response = await speak();
    expect(response.headers.get("content-type")).toBe("audio/wav");
    const wav = Buffer.from(await response.arrayBuffer());
    expect(wav.toString("latin1", 0, 4)).toBe("RIFF");
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
    const { input, output } = await endOf(world, world.watch(predictionIn(response)), "succeeded");
    expect(input).toEqual({ text: WORDS, voice: "low" });
    expect(output).toMatch(/speech\.wav/);
    const file = await toFile(wav, "speech.wav", { type: "audio/wav" });
    expect(await openai.audio.transcriptions.create({ model: LISTENER, file })).toMatchObject({
      text: WRITTEN,
    });
  });

  it("the model answers in the format that was asked for, also in events", async () => {
    const [wav, pcm] = await Promise.all(
      ["wav", "pcm"].map(async (response_format) =>
        Buffer.from(await (await speak({ response_format, speed: 2 })).arrayBuffer()),
      ),
    );
    expect(pcm).toEqual(wav?.subarray(44));
    const events = await eventsOf(await speak({ stream_format: "sse", speed: 2 }));
    for (const one of events) expectEvent(one);
    expect(events.at(-1)?.type).toBe("speech.audio.done");
    expect(soundOf(events)).toEqual(wav);
  });

  it.each([
    [{ response_format: "mp3" }, "response_format", "'wav', 'pcm'"],
    [{ voice: "alloy" }, "voice", "'low', 'high'"],
    [{ instructions: "Whisper" }, "instructions", "does not have"],
  ])("the request is refused before it runs because of %j", async (more, param, words) => {
    const refused = speak(more);
    await expect(refused).rejects.toBeInstanceOf(BadRequestError);
    await expect(refused).rejects.toMatchObject({ param, message: expect.stringContaining(words) });
  });

  it("the call is one prediction under one idempotency key", async () => {
    const options = { headers: { "Idempotency-Key": "text-to-speech" } };
    const asked = { model: CRIER, input: "Alice", voice: "high" } as const;
    const answers = [
      await openai.audio.speech.create(asked, options),
      await openai.audio.speech.create(asked, options),
    ];
    const [first, second] = await Promise.all(answers.map((one) => one.arrayBuffer()));
    expect(first).toEqual(second);
    expect(new Set(answers.map(predictionIn)).size).toBe(1);
  });
});

describe("a Cog model that hears", () => {
  const spoken = async () => {
    const speech = await openai.audio.speech.create({ model: CRIER, input: WORDS, voice: "high" });
    return toFile(speech, "speech.wav");
  };
  const transcribe = async <Format extends "json" | "text" | "srt" | "vtt" | "verbose_json">(
    response_format: Format,
    more: object = {},
  ) =>
    openai.audio.transcriptions.create({
      model: LISTENER,
      file: await spoken(),
      response_format,
      ...more,
    });

  it("the model writes in each format", async () => {
    const json = await transcribe("json");
    expect(objections("openai", "CreateTranscriptionResponseJson", json)).toEqual([]);
    expect(json).toMatchObject({ text: WRITTEN, usage: { type: "duration" } });
    expect(await transcribe("text")).toBe(`${WRITTEN}\n`);
    const srt = /^1\n00:00:00,000 --> 00:00:0\d,\d{3}\nthe queen, she sighed\.\n\n2\n/;
    expect(await transcribe("srt")).toMatch(srt);
    expect(await transcribe("vtt")).toMatch(/^WEBVTT\n\n00:00:00\.000 --> /);
    const verbose = await transcribe("verbose_json", { timestamp_granularities: ["word"] });
    expect(objections("openai", "CreateTranscriptionResponseVerboseJson", verbose)).toEqual([]);
    expect(verbose).toHaveProperty("words.1.word", "queen");
  });

  it("the model streams the text that it has", async () => {
    const file = await spoken();
    const stream = await openai.audio.transcriptions.create({
      model: LISTENER,
      file,
      stream: true,
    });
    const events = await Array.fromAsync(stream);
    for (const one of events) expectEvent(one);
    expect(events).toMatchObject([
      { type: "transcript.text.delta", delta: WRITTEN },
      { type: "transcript.text.done", text: WRITTEN },
    ]);
  });

  it.each([
    ["translates", { language: "fr" }, "language"],
    ["is given a hint", { prompt: "Alice" }, "prompt"],
  ])("a transcription that %s is refused", async (_, more, param) => {
    await expect(transcribe("json", more)).rejects.toMatchObject({ status: 400, param });
  });

  it("the model does not translate", async () => {
    const file = await spoken();
    const refused = openai.audio.translations.create({ model: LISTENER, file });
    await expect(refused).rejects.toMatchObject({ status: 400, code: "unsupported_model" });
  });

  it("a file that is no sound fails with the model's words, after one try", async () => {
    const file = await toFile(Buffer.from("hello"), "a.wav");
    const refused = openai.audio.transcriptions.create({ model: LISTENER, file });
    await expect(refused).rejects.toMatchObject({ status: 502, code: "model_error" });
  });
});

describe("a server that speaks", () => {
  const speak = (script: object, more: object = {}, options: object = {}, client = openai) =>
    client.audio.speech.create(
      { model: CHANTER, input: JSON.stringify(script), voice: "alloy", ...more },
      options,
    );

  it("the server's sound is passed on in its format, and is replayed from its log", async () => {
    const script = { pieces: ["RIFF", "x"], times: 300_000, tail: "end" };
    const sound = `RIFF${"x".repeat(300_000)}end`;
    const options = { headers: { "Idempotency-Key": "chanter" } };
    const response = await speak(script, {}, options);
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    expect(await response.text()).toBe(sound);
    const again = await speak(script, {}, options);
    expect(predictionIn(again)).toBe(predictionIn(response));
    expect(await again.text()).toBe(sound);
    const { metrics } = await endOf(world, world.watch(predictionIn(response)), "succeeded");
    expect(metrics).toMatchObject({ output_tokens: 0, tokens_estimated: 1 });
  });

  it("the server's sound is passed on in events", async () => {
    const script = { pieces: ["ab", "cd"] };
    const response = await speak(script, { stream_format: "sse" });
    const events = await eventsOf(response);
    for (const one of events) expectEvent(one);
    expect(soundOf(events).toString()).toBe("abcd");
    expect(events.at(-1)).toMatchObject({ usage: { total_tokens: 8 } });
    const { metrics } = await endOf(world, world.watch(predictionIn(response)), "succeeded");
    expect(metrics).toMatchObject({ input_tokens: 3, output_tokens: 5 });
  });

  it.each(["audio", "sse"])(
    "the server's sound arrives while it works, as %s, and stops when its caller leaves",
    async (stream_format) => {
      const leaving = new AbortController();
      const script = { pieces: ["first"], hang: true };
      const options = { signal: leaving.signal };
      const response = await speak(script, { stream_format }, options, leaver);
      const { value } = (await response.body?.getReader().read()) ?? {};
      expect(Buffer.from(value ?? []).toString()).toContain(
        stream_format === "sse" ? Buffer.from("first").toString("base64") : "first",
      );
      leaving.abort();
      const watch = world.watch(predictionIn(response));
      await watch.ended;
      expect((await world.get(watch.id)).status).toBe("canceled");
    },
  );

  it("a sound that breaks off does not look complete", async () => {
    const response = await speak({ pieces: ["first"], cut: true });
    await expect(response.text()).rejects.toThrow();
  });

  it("the server's refusal is passed on", async () => {
    const refused = speak({}, { voice: "nobody" });
    await expect(refused).rejects.toMatchObject({ status: 400, param: "voice" });
  });
});

describe("a server that hears", () => {
  const BYTES = Buffer.alloc(1_500_000, "sound");
  const sha256 = createHash("sha256").update(BYTES).digest("hex");
  const file = () => toFile(BYTES, "queen of hearts.mp3", { type: "audio/mpeg" });
  const heard = z.string().transform((text) => JSON.parse(text.slice(text.indexOf("{"))));

  it("the server gets the file and each field as they were sent", async () => {
    const { text } = await openai.audio.transcriptions.create({
      model: CHANTER,
      file: await file(),
      language: "en",
      temperature: 0.5,
      timestamp_granularities: ["word", "segment"],
    });
    expect(heard.parse(text)).toEqual({
      task: "transcribe",
      fields: [
        ["model", "chanter-1"],
        ["language", "en"],
        ["temperature", "0.5"],
        ["timestamp_granularities[]", "word"],
        ["timestamp_granularities[]", "segment"],
      ],
      file: ["queen-of-hearts.mp3", "audio/mpeg", BYTES.length, sha256],
    });
  });

  it.each(["text", "srt", "vtt"] as const)(
    "the server answers in its own %s",
    async (response_format) => {
      const asked = { model: CHANTER, file: await file(), response_format };
      const text: unknown = await openai.audio.transcriptions.create(asked);
      expect(heard.parse(text)).toMatchObject({ task: "transcribe" });
      expect(text).toMatch(
        { text: /^\{.*\n$/s, srt: /^1\n00:00:00,000 --> /, vtt: /^WEBVTT/ }[response_format],
      );
    },
  );

  it("the server translates", async () => {
    const asked = { model: CHANTER, file: await file() };
    const { text } = await openai.audio.translations.create(asked);
    expect(heard.parse(text)).toMatchObject({ task: "translate" });
    const verbose = await openai.audio.translations.create({
      ...asked,
      response_format: "verbose_json",
    });
    expect(verbose).toMatchObject({ language: "english", duration: 1 });
  });

  it("the server streams a transcription", async () => {
    const asked = { model: CHANTER, file: await file(), stream: true } as const;
    const events = await Array.fromAsync(await openai.audio.transcriptions.create(asked));
    for (const one of events) expectEvent(one);
    const deltas = events.flatMap((one) => (one.type === "transcript.text.delta" ? one.delta : []));
    expect(deltas.length).toBeGreaterThan(2);
    expect(events.at(-1)).toMatchObject({ type: "transcript.text.done", text: deltas.join("") });
  });
});
