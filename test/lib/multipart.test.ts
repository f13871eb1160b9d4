/** Forms that come in pieces of any size. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { boundaryOf, MalformedForm, MultipartParser } from "../../src/lib/multipart.ts";

const encoder = new TextEncoder();
const latin1 = (bytes: Uint8Array) => String.fromCharCode(...bytes);
const bytesOf = (text: string) => Uint8Array.from(text, (one) => one.charCodeAt(0));

interface Part {
  name: string;
  filename?: string | undefined;
  type?: string | undefined;
  text: string;
}

function parse(boundary: string, chunks: Uint8Array[]): Part[] {
  const parser = new MultipartParser(boundary);
  const parts: Part[] = [];
  for (const chunk of chunks) {
    for (const event of parser.feed(chunk)) {
      const last = parts.at(-1);
      if (event.kind === "head") parts.push({ ...event.head, text: "" });
      else if (event.kind === "bytes" && last) last.text += latin1(event.bytes);
    }
  }
  parser.end();
  return parts;
}

const head = (disposition: string, type?: string) =>
  `Content-Disposition: form-data; ${disposition}\r\n${type ? `Content-Type: ${type}\r\n` : ""}\r\n`;

const FORM = [
  `--x\r\n${head('name="model"')}demo/brush\r\n`,
  `--x \t\r\n${head('name="image[]"; filename="a %22b%22\\.png"', "image/png")}\x89PNG\r\n--\r\n--y\r\r\n`,
  `--x\r\n${head("name=empty")}\r\n`,
  `--x\r\n${head(`filename="_.png"; filename*=UTF-8''%E2%82%AC.png; name="q%22%0D"`)}\r\n`,
  "--x--\r\nepilogue",
].join("");

const PARTS = [
  { name: "model", filename: undefined, type: undefined, text: "demo/brush" },
  { name: "image[]", filename: 'a "b"\\.png', type: "image/png", text: "\x89PNG\r\n--\r\n--y\r" },
  { name: "empty", filename: undefined, type: undefined, text: "" },
  { name: 'q"\r', filename: "€.png", type: undefined, text: "" },
];

test("each part has its content, wherever the form is cut", () => {
  const bytes = bytesOf(FORM);
  for (let cut = 0; cut <= bytes.length; cut += 1)
    expect(parse("x", [bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(PARTS);
  expect(
    parse(
      "x",
      Array.from(bytes, (byte) => Uint8Array.of(byte)),
    ),
  ).toEqual(PARTS);
});

test("a form that the platform's FormData writes is read", async () => {
  const name = fc.stringMatching(/^[\w "\\äß.;=\r\n-]{1,20}$/);
  const content = fc.stringMatching(/^[\r\n\-a-c]{0,60}$/);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, content)), fc.nat(20), async (fields, size) => {
      const form = new FormData();
      for (const [name, text] of fields) form.append(name, new Blob([text]), name);
      const response = new Response(form);
      const boundary = boundaryOf(response.headers.get("content-type") ?? "") ?? "";
      const bytes = new Uint8Array(await response.arrayBuffer());
      const chunks = Array.from({ length: Math.ceil(bytes.length / (size + 1)) }, (_, n) =>
        bytes.subarray(n * (size + 1), (n + 1) * (size + 1)),
      );
      const found = parse(boundary, chunks).map(({ filename, text }) => [filename, text]);
      // FormData sends a line end in a name as an escaped CR LF.
      const sent = (text: string) => text.replace(/\r\n|\r|\n/g, "\r\n");
      expect(found.map(([name, text]) => [sent(name ?? ""), text])).toEqual(
        fields.map(([name, text]) => [sent(name), text]),
      );
    }),
  );
});

test("a text that is no form is malformed", () => {
  const bad = [
    "--x\r\nContent-Disposition: form-data; name=a\r\n\r\ntext",
    "--x\r\nContent-Disposition: attachment; name=a\r\n\r\n--x--",
    "--x\r\nContent-Disposition: form-data\r\n\r\n\r\n--x--",
    "--xy\r\n\r\n--x--",
    `--x\r\n${"A: b\r\n".repeat(2_000)}`,
    "--x",
    "",
  ];
  for (const text of bad)
    expect(() => parse("x", [encoder.encode(text)]), text.slice(0, 80)).toThrow(MalformedForm);
});

test("bytes after the last delimiter are not kept", () => {
  const parser = new MultipartParser("x");
  const chunk = new Uint8Array(1024 ** 2);
  expect([...parser.feed(bytesOf(FORM))].length).toBeGreaterThan(0);
  const before = process.memoryUsage().arrayBuffers;
  for (let n = 0; n < 64; n += 1) expect([...parser.feed(chunk)]).toEqual([]);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * chunk.length);
  parser.end();
});

test("the boundary is read in the forms that clients write", () => {
  expect(boundaryOf("multipart/form-data; boundary=----formdata-undici-0123")).toBe(
    "----formdata-undici-0123",
  );
  expect(boundaryOf('Multipart/Form-Data; charset=utf-8; boundary="a b:c"')).toBe("a b:c");
  expect(boundaryOf("multipart/form-data")).toBeUndefined();
  expect(boundaryOf("multipart/mixed; boundary=x")).toBeUndefined();
  expect(boundaryOf(`multipart/form-data; boundary=${"x".repeat(71)}`)).toBeUndefined();
});
