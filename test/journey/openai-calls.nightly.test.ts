/** Calls of the OpenAI convention other than text, by its official client. */
import type OpenAI from "openai";
import { toFile } from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { expectResponseEvent } from "../published/validate.ts";
import { USERNAME } from "./support/access.ts";
import { openAiOf, predictionIn, type Setup, told } from "./support/conventions.ts";
import { World } from "./support/world.ts";

const ORACLE = `${USERNAME}/oracle`;
const NATIVE = `${USERNAME}/oracle-native`;
/** A server of images and speech. */
const STUDIO = `${USERNAME}/studio`;
/** Cog models. */
const IMAGE = `${USERNAME}/image`;
const SPEECH = `${USERNAME}/text-to-speech`;
const HEARING = `${USERNAME}/speech-to-text`;

let world: World;
let setup: Setup;
let openai: OpenAI;

beforeAll(async () => {
  world = await World.open();
  await world.runner("one", { slots: 16 });
  setup = openAiOf(world.access);
  openai = setup.openai;
});
afterEach(() => setup.wire.settle());
afterAll(() => world.close());

describe("vectors and scores", () => {
  const embed = async (
    input: OpenAI.EmbeddingCreateParams["input"],
    rest: Partial<OpenAI.EmbeddingCreateParams> = {},
  ) => {
    const { data } = await openai.embeddings.create({ model: ORACLE, input, ...rest });
    return data.map(({ embedding }) => embedding);
  };

  it("embeddings are the same in either format, and the same for one text as for many", async () => {
    const plain = await embed(["rain", "sun"]);
    expect(setup.wire.last.text).toMatch(/"embedding":"/);
    expect(await embed(["rain", "sun"], { encoding_format: "float" })).toEqual(plain);
    expect(await embed("sun")).toEqual(plain.slice(1));
    expect(await embed([5, 6, 7], { dimensions: 3 })).toMatchObject([{ length: 3 }]);
  });

  it("completions of several prompts are streamed", async () => {
    const prompt = [told({ say: ["It", " rains"] }), told({ say: ["It", " rains"] })];
    const stream = await openai.completions.create({ model: ORACLE, prompt, stream: true });
    const choices = (await Array.fromAsync(stream)).flatMap((one) => one.choices);
    for (const index of [0, 1]) {
      const texts = choices.filter((one) => one.index === index).map(({ text }) => text);
      expect(texts.join("")).toBe("It rains");
    }
  });

  it("a moderation and a ranking are the container's", async () => {
    const { results } = await openai.moderations.create({ model: ORACLE, input: ["rain", "harm"] });
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true]);
    const body = { model: ORACLE, query: "the tea", documents: ["a timetable", "the tea", "tea"] };
    expect(await openai.post("/rerank", { body })).toMatchObject({
      results: [{ index: 1 }, {}, {}],
    });
  });
});

describe("images", () => {
  const pixels = { width: 64, height: 48, channels: 4 as const, background: "red" };
  const red = () => sharp({ create: pixels }).png().toBuffer();

  it("a Cog model's pictures are files and base64, also in a stream", async () => {
    const hills = { model: IMAGE, prompt: "Hills at dusk", size: "64x48", n: 2 } as const;
    const { data = [] } = await openai.images.generate(hills);
    expect(data).toHaveLength(2);
    for (const { url = "", b64_json = "" } of data) {
      const bytes = Buffer.from(b64_json, "base64");
      expect(Buffer.from(await (await fetch(url)).arrayBuffer())).toEqual(bytes);
      expect(await sharp(bytes).metadata()).toMatchObject({ width: 64, height: 48 });
    }
    const events = await Array.fromAsync(await openai.images.generate({ ...hills, stream: true }));
    expect(events.map(({ type }) => type)).toEqual(Array(2).fill("image_generation.completed"));
  });

  it("a Cog model edits the files of a form", async () => {
    const image = await toFile(await red(), "red.png", { type: "image/png" });
    const { data } = await openai.images.edit({ model: IMAGE, prompt: "A lake", image });
    const bytes = Buffer.from(data?.[0]?.b64_json ?? "", "base64");
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 64, height: 48 });
  });

  it("a server gets the form with the files of an edit", async () => {
    const bytes = await red();
    const file = () => toFile(bytes, "red.png", { type: "image/png" });
    const image = [await file(), await file()];
    const { data } = await openai.images.edit({ model: STUDIO, prompt: "A dot", image, n: 2 });
    const form: unknown = JSON.parse(data?.[0]?.revised_prompt ?? "");
    expect(form).toEqual(
      expect.arrayContaining([
        ["model", "studio-1"],
        ["prompt", "A dot"],
        ["n", "2"],
        ["image[]", ["red.png", "image/png", bytes.length]],
      ]),
    );
  });
});

describe("speech", () => {
  it("a Cog model speaks, and another understands it", async () => {
    const input = "The Queen, she sighed. Off with his head!";
    const speech = await openai.audio.speech.create({ model: SPEECH, input, voice: "low" });
    expect(speech.headers.get("content-type")).toBe("audio/wav");
    const file = await toFile(speech, "speech.wav", { type: "audio/wav" });
    const written = "the queen, she sighed. off with his head.";
    const asked = { model: HEARING, file };
    expect(await openai.audio.transcriptions.create(asked)).toMatchObject({ text: written });
    const srt = await openai.audio.transcriptions.create({ ...asked, response_format: "srt" });
    expect(srt).toMatch(/^1\n00:00:00,000 --> /);
  });

  it("a server's sound arrives while it works, and stops when its caller leaves", async () => {
    const { url } = await world.relay();
    const { openai: leaver } = openAiOf({ ...world.access, url });
    const leaving = new AbortController();
    const asked = { model: STUDIO, input: "RIFF", voice: "alloy" };
    const response = await leaver.audio.speech.create(asked, { signal: leaving.signal });
    expect(response.headers.get("content-type")).toBe("audio/mpeg");
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toBe("RIFF");
    leaving.abort();
    await vi.waitFor(
      async () => expect((await world.get(predictionIn(response))).status).toBe("canceled"),
      { timeout: 10_000 },
    );
  });

  it("a server gets the file of a transcription and each field as they were sent", async () => {
    const bytes = Buffer.alloc(1_500_000, "sound");
    const file = await toFile(bytes, "queen.mp3", { type: "audio/mpeg" });
    const asked = { model: STUDIO, file, timestamp_granularities: ["word" as const] };
    const { text } = await openai.audio.transcriptions.create(asked);
    expect(JSON.parse(text).toSorted()).toEqual([
      ["file", ["queen.mp3", "audio/mpeg", bytes.length]],
      ["model", "studio-1"],
      ["timestamp_granularities[]", "word"],
    ]);
  });
});

it.each([ORACLE, NATIVE])("a compaction of %s stands for the items before it", async (model) => {
  const input = [
    { role: "user" as const, content: told({ say: ["Rain at noon"] }) },
    { role: "assistant" as const, content: "Rain at noon" },
  ];
  const { output } = await openai.responses.compact({ model, input });
  const items = output.flatMap((item) => (item.type === "compaction" ? [item] : []));
  expect(items).toHaveLength(1);
  const next = { role: "user" as const, content: told({ say: ["Yes"] }) };
  const { output_text } = await openai.responses.create({ model, input: [...items, next] });
  expect(output_text).toBe("Yes");
  const count = { model, input: "x".repeat(400) };
  const { input_tokens } = await openai.responses.inputTokens.count(count);
  expect(input_tokens).toBeGreaterThan(50);
});

it("a message of a WebSocket is a call, and its events are messages", async () => {
  const socket = new ResponsesWS(openai);
  const events: OpenAI.Responses.ResponsesServerEvent[] = [];
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  socket.on("event", (event) => events.push(event));
  const completed = (count: number) =>
    vi.waitFor(() => {
      const ended = events.filter(({ type }) => type === "response.completed");
      expect(ended).toHaveLength(count);
    }, 10_000);
  socket.send({ type: "response.create", model: ORACLE, input: told({ say: ["Rain", "!"] }) });
  await completed(1);
  const [created] = events;
  socket.send({ type: "response.create", model: "no/model", input: "x" });
  socket.send({
    type: "response.create",
    model: ORACLE,
    previous_response_id: created?.type === "response.created" ? created.response.id : "",
    input: told({ say: ["Yes"] }),
  });
  await completed(2);
  const errors = events.filter(({ type }) => type === "error");
  expect(errors).toMatchObject([{ status: 404, error: { code: "model_not_found" } }]);
  for (const event of events) if (event.type !== "error") expectResponseEvent(event);
  socket.close();
  await closed;
});
