/** The view of a version, and the inputs that a chat accepts. */
import { describe, expect, test } from "vitest";
import { takesPictures } from "../../../src/dashboard/playground/chat/wire.ts";
import { MediaOutputs, timeText, wavOf } from "../../../src/dashboard/playground/media-outputs.ts";
import { ownView } from "../../../src/dashboard/playground/views.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { type Compatibilities, newCompatibilities } from "../../../src/protocol/model.ts";

const viewOf = (
  flags: (keyof Compatibilities)[],
  properties: { [name: string]: Json } = {},
  output: { [name: string]: Json } = {},
) =>
  ownView({
    compatibilities: newCompatibilities.parse(Object.fromEntries(flags.map((one) => [one, true]))),
    schemas: {
      prediction: { input: { type: "object", properties }, output, stream_output: false },
    },
  });

const FILE = { type: "string", format: "uri" };

test("a version has the view of its compatibilities", () => {
  expect(viewOf([])).toBeUndefined();
  expect(viewOf(["vendora_chat_completions"])).toBe("chat");
  expect(viewOf(["vendora_responses"], { input: {} })).toBe("chat");
  expect(viewOf(["vendorb_messages"], { messages: {} })).toBe("chat");
  expect(viewOf(["vendora_embeddings"])).toBeUndefined();
  expect(viewOf(["vendora_images_generations"])).toBe("images");
  expect(viewOf(["vendora_images_edits"])).toBe("images");
  expect(viewOf(["vendora_audio_speech"])).toBe("speech");
  expect(viewOf(["vendora_audio_translations"])).toBe("transcription");
});

test("a version with a picture as input and a file as output has the view of pictures", () => {
  expect(viewOf([], { input_image: FILE }, FILE)).toBe("images");
  expect(viewOf([], { image: FILE }, { type: "array", items: FILE })).toBe("images");
  expect(viewOf([], { image: FILE }, { type: "string" })).toBeUndefined();
  expect(viewOf([], { document: FILE }, FILE)).toBeUndefined();
});

describe("pictures in messages", () => {
  const withContent = (content: Json) =>
    takesPictures({ properties: { messages: { items: { properties: { content } } } } });
  const parts = (...types: string[]) => ({
    type: "array",
    items: { anyOf: types.map((type) => ({ properties: { type: { const: type } } })) },
  });
  test("pictures in messages are accepted unless the schema forbids them", () => {
    expect(takesPictures({})).toBe(true);
    expect(withContent({ type: ["string", "array"] })).toBe(true);
    expect(withContent({ anyOf: [{ type: "string" }, parts("text", "image_url")] })).toBe(true);
    expect(withContent({ type: "string" })).toBe(false);
    expect(withContent({ anyOf: [{ type: "string" }, parts("text")] })).toBe(false);
  });
});

describe("outputs", () => {
  const read = (...outputs: Json[]) => {
    const all = new MediaOutputs("auspex.test");
    for (const output of outputs) all.take(output);
    return all;
  };

  test("pictures are found in outputs: files, data, and those of OpenAI's API, with the previews before them", () => {
    const png = "iVBORw0KGgo=";
    const data = `data:image/png;base64,${png}`;
    expect(read([data], { data: [{ b64_json: png }, { url: data }] }).items).toEqual([
      { kind: "image", address: data, name: "Image" },
      { kind: "image", address: data, name: "Picture" },
      { kind: "image", address: data, name: "Image" },
    ]);
    const partial = { type: "image_generation.partial_image", b64_json: png };
    expect(read(partial)).toMatchObject({ partial: data, items: [] });
    const whole = read(partial, { type: "image_generation.completed", b64_json: "/9j/4AAQ" });
    expect(whole).toMatchObject({
      partial: undefined,
      items: [{ address: "data:image/jpeg;base64,/9j/4AAQ" }],
    });
  });

  test("a sound that a server sends in pieces is one sound, once it has ended", () => {
    const delta = (text: string, more = {}) => ({
      type: "speech.audio.delta",
      audio: btoa(text),
      ...more,
    });
    const all = read(delta("RI", { content_type: "audio/wav; rate=16000" }), delta("FF"));
    expect(all.items).toEqual([]);
    all.end();
    all.end();
    const name = "Sound";
    expect(all.items).toEqual([
      { kind: "audio", address: `data:audio/wav;base64,${btoa("RIFF")}`, name },
    ]);
    // A server's own events state their end, and not the media type.
    const events = read(delta("ID3"), { type: "speech.audio.done", usage: { total_tokens: 1 } });
    const address = `data:audio/mpeg;base64,${btoa("ID3")}`;
    expect(events.items).toEqual([{ kind: "audio", address, name }]);
    const torn = read({ type: "speech.audio.delta", audio: "%" });
    torn.end();
    expect(torn.isEmpty).toBe(true);
  });

  test("files of other hosts are links, and unknown outputs are shown as they are", () => {
    expect(read("https://else.test/a.png", { seed: 1 }).items).toEqual([
      { kind: "link", address: "https://else.test/a.png", name: "https://else.test/a.png" },
      { kind: "json", value: { seed: 1 } },
    ]);
  });

  test("transcripts are shown with their segments", () => {
    const segments = [{ start: 0, end: 1.5, text: " Hello." }];
    expect(read({ text: "Hello.", segments })).toMatchObject({
      text: "Hello.",
      segments: [{ start: 0, end: 1.5, text: "Hello." }],
    });
    const chunks = [{ timestamp: [2, null], text: "Hello." }];
    expect(read({ text: "Hello.", chunks }).segments).toEqual([
      { start: 2, end: undefined, text: "Hello." },
    ]);
    const deltas = ["Hel", "lo."].map((delta) => ({ type: "transcript.text.delta", delta }));
    expect(read(...deltas).text).toBe("Hello.");
    expect(read("Hel", "lo.").text).toBe("Hello.");
  });

  test("times of segments are written in words", () => {
    expect([0, 9.96, 62.5, 3_600].map(timeText)).toEqual(["0:00.0", "0:10.0", "1:02.5", "60:00.0"]);
  });
});

test("a recording becomes a WAV file of 16 bits", () => {
  const bytes = wavOf(new Float32Array([0, 1, -1, 2]), 16_000);
  const view = new DataView(bytes.buffer);
  expect(new TextDecoder().decode(bytes.slice(0, 4))).toBe("RIFF");
  expect([view.getUint32(4, true), view.getUint32(24, true), view.getUint32(40, true)]).toEqual([
    44, 16_000, 8,
  ]);
  expect([0, 1, 2, 3].map((n) => view.getInt16(44 + 2 * n, true))).toEqual([
    0, 32_767, -32_767, 32_767,
  ]);
});
