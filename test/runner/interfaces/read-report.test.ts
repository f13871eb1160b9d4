/** Reports whose large files go to disk while they come. */
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { SaveFile } from "../../../runner/src/files/output-queue.ts";
import { readReport } from "../../../runner/src/interfaces/cog/webhooks.ts";

const LARGE = 70_000;
const uri = (bytes: Buffer, type = "image/png") =>
  `data:${type};base64,${bytes.toString("base64")}`;

/** Reads the text in these pieces; files become `kept:0`, `kept:1` …, and are returned. */
async function read(text: string, cuts: number[] = [], maxBytes = 1_000_000, keeps = true) {
  const bytes = Buffer.from(text);
  const places = [...new Set([0, ...cuts.map((cut) => cut % bytes.length)])].sort((a, b) => a - b);
  const pieces = places.map((from, n) => bytes.subarray(from, places[n + 1]));
  const kept: { type: string; bytes: Buffer }[] = [];
  const saveFile: SaveFile = async (content, type) => {
    const parts: Uint8Array[] = [];
    for await (const part of content) parts.push(part);
    kept.push({ type, bytes: Buffer.concat(parts) });
    return `kept:${kept.length - 1}`;
  };
  const sizes: number[] = [];
  const backpressure = async (size: number) => void sizes.push(size);
  const message = Readable.from(pieces.filter(({ length }) => length > 0));
  const options = { maxBytes, saveFile: keeps ? saveFile : undefined, backpressure };
  const body = await readReport(message, options);
  return { body, kept, sizes, message };
}

it("a report without a large file is returned unchanged, however it is cut", async () => {
  const text = fc.string({ unit: "binary" });
  const small = fc.uint8Array({ maxLength: 50 }).map((bytes) => uri(Buffer.from(bytes)));
  const value = fc.dictionary(text, fc.oneof(text, small, fc.array(text), fc.integer()));
  await fc.assert(
    fc.asyncProperty(value, fc.array(fc.nat(2_000)), async (report, cuts) => {
      const json = JSON.stringify(report);
      const { body, kept } = await read(json, cuts);
      expect(body).toBe(json);
      expect(kept).toEqual([]);
    }),
  );
});

it("a report has addresses for large files, whose bytes are kept in order, however it is cut", async () => {
  const size = fc.integer({ min: LARGE, max: LARGE + 6 });
  const cut = fc.nat(1_000_000);
  await fc.assert(
    fc.asyncProperty(fc.array(size, { maxLength: 3 }), fc.array(cut), async (sizes, cuts) => {
      const files = sizes.map((length, n) => Buffer.alloc(length, `file ${n}`));
      const output = (named: string[]) => JSON.stringify({ logs: 'a "\\', output: [...named, 1] });
      const { body, kept } = await read(output(files.map((file) => uri(file))), cuts);
      expect(body).toBe(output(files.map((_, n) => `kept:${n}`)));
      expect(kept.map(({ type }) => type)).toEqual(files.map(() => "image/png"));
      for (const [n, file] of files.entries()) expect(kept[n]?.bytes.equals(file)).toBe(true);
    }),
    { numRuns: 30 },
  );
});

it("a report may be larger than its limit in memory, and says how much has come", async () => {
  const file = Buffer.alloc(3_000_000, "x");
  const text = JSON.stringify({ output: uri(file) });
  const { body, sizes } = await read(text, [1_000_000, 2_000_000], 1_000);
  expect(body).toBe(JSON.stringify({ output: "kept:0" }));
  expect(sizes.at(-1)).toBe(text.length);
});

it.each(["x", '"', "\\"])(
  "a report is undefined when its remaining text exceeds the memory limit: %j",
  async (one) => {
    const { body, message } = await read(JSON.stringify({ logs: one.repeat(5_000) }), [100], 1_000);
    expect(body).toBeUndefined();
    expect(message.destroyed).toBe(true);
  },
);

it("a report in which texts are no files keeps none", async () => {
  const text = JSON.stringify({ output: uri(Buffer.alloc(LARGE)) });
  expect(await read(text, [], 1_000_000, false)).toMatchObject({ body: text, kept: [] });
});

it.each([
  ["no media type", "", "A"],
  ["not base64 by name", "image/png,", ""],
])("a report keeps a text with %s", async (_, type) => {
  const text = JSON.stringify(`data:${type};base64,${"A".repeat(4 * LARGE)}`);
  expect(await read(text)).toMatchObject({ body: text, kept: [] });
});

it.each(["*", "A=AA", "AA\\n"])("a report with invalid base64 is refused: %j", async (wrong) => {
  const text = JSON.stringify(`data:image/png;base64,${"A".repeat(LARGE)}${wrong}`);
  await expect(read(text)).rejects.toThrow("is not valid base64");
});

it("a report that ends inside a file is refused", async () => {
  const text = `{"output":"${uri(Buffer.alloc(2 * LARGE))}`;
  await expect(read(text)).rejects.toThrow("the report ends inside a file");
});
