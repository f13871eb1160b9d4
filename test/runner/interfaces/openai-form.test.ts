/** A request as a form, from which any server reads the fields of the input. */
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { smallestRequest } from "../../../runner/src/interfaces/openai/openai.ts";
import { formOf } from "../../../src/run/openai/form.ts";
import { PATHS } from "../../../src/run/openai/request.ts";

const folder = mkdtempSync(join(tmpdir(), "auspex-form-"));
afterAll(() => rmSync(folder, { recursive: true }));

const NONE = () => undefined;
const URL_OF_FILE = "http://127.0.0.1:1/x/0/a.wav";

function files(content: Buffer) {
  const path = join(folder, "a");
  writeFileSync(path, content);
  const facts = { name: "a.wav", size: content.length, mime_type: "audio/wav" };
  const file = { ...facts, content: () => createReadStream(path) };
  return (text: string) => (text === URL_OF_FILE ? file : undefined);
}

test.each([0, 1, 200_000])("a form has a file of %i bytes", async (size) => {
  const content = Buffer.alloc(size, "\r\n--auspex");
  const input = {
    model: 'a"b',
    file: URL_OF_FILE,
    stream: true,
    temperature: 0.5,
    prompt: "Größe\r\n",
    language: null,
    timestamp_granularities: ["word", "segment"],
    chunking_strategy: { type: "server_vad" },
  };
  const made = formOf("audio_transcriptions", input, files(content)) ?? expect.fail("no form");
  const { type, length, content: body } = made;
  const bytes = await buffer(body());
  expect(bytes.length).toBe(length);
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const { file, ...fields } = Object.fromEntries(form);
  expect(fields).toEqual({
    model: 'a"b',
    stream: "true",
    temperature: "0.5",
    prompt: "Größe\r\n",
    "timestamp_granularities[]": "segment",
    "chunking_strategy[type]": "server_vad",
  });
  expect(form.getAll("timestamp_granularities[]")).toEqual(["word", "segment"]);
  if (!(file instanceof File)) throw new Error("there is no file");
  expect([file.name, file.type]).toEqual(["a.wav", "audio/wav"]);
  expect(Buffer.from(await file.arrayBuffer())).toEqual(content);
});

test("a form has a file that was sent as a data URI, or none", async () => {
  const input = { prompt: "data:text/plain;base64,aGk=", image: ["data:image/png;base64,aGk="] };
  const { type, content } = formOf("images_edits", input, NONE) ?? expect.fail("no form");
  const bytes = await buffer(content());
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  expect(form.get("prompt")).toBe(input.prompt);
  const file = form.get("image[]");
  expect(file instanceof File && [file.name, file.type, file.size]).toEqual([
    ...["output.png", "image/png", 2],
  ]);
  const refused = expect.objectContaining({ status: 400 });
  expect(() => formOf("audio_translations", { file: "x" }, NONE)).toThrow(refused);
  expect(formOf("audio_speech", { input: "x" }, NONE)).toBeUndefined();
});

test.each([
  ["a long name of many values", { ["n".repeat(100_000)]: Array(2_000).fill(1) }],
  ["names within names", { x: { ["n".repeat(100_000)]: { y: Array(2_000).fill(1) } } }],
  ["many values", { x: Array(500_000).fill(1) }],
])("a form that grows with %s is refused before it is made", (_, more) => {
  const before = process.memoryUsage().rss;
  const refused = expect.objectContaining({ status: 413 });
  const input = { file: URL_OF_FILE, ...more };
  expect(() => formOf("audio_transcriptions", input, files(Buffer.alloc(1)))).toThrow(refused);
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 ** 2);
});

test.each(["audio_transcriptions", "audio_translations"] as const)(
  "the smallest form of %s has a file",
  async (call) => {
    const { path, type, body } = smallestRequest(call, { model: "ada/it" }, undefined);
    expect(path).toBe(PATHS[call]);
    const form = await new Response(body, { headers: { "content-type": type } }).formData();
    expect(form.get("model")).toBe("ada/it");
    const file = form.get("file");
    if (!(file instanceof File)) throw new Error("there is no file");
    const wav = Buffer.from(await file.arrayBuffer());
    expect(wav.toString("latin1", 0, 16)).toBe(`RIFF\xa4\x0c\0\0WAVEfmt `);
    expect(wav.readUInt32LE(40)).toBe(wav.length - 44);
  },
);
