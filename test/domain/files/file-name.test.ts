/** File names in keys, in addresses and in the header `Content-Disposition`. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { disposition, safeName, shownName } from "../../../src/domain/files/file-name.ts";
import { oneFile } from "../../../src/protocol/file.ts";
import { createUpload } from "../../../src/protocol/upload.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";

/** File names that `createUpload` accepts. */
const names = fc
  .string({ unit: "binary", minLength: 1, maxLength: 255 })
  .filter((name) => /^[^\p{Cc}\p{Cs}/\\]+$/u.test(name));

describe("the name in an address", () => {
  test.each([
    ["photo.png", "photo.png"],
    ["a b  c.png", "a-b-c.png"],
    ["Ünïcödé.jpg", "Unicode.jpg"],
    ["файл.png", "file.png"],
    ["写真.tar.gz", "file.tar.gz"],
    ["👍", "file"],
    ["__init__.py", "init__.py"],
    [".bashrc", "bashrc"],
    ["...", "file"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\x.txt", "x.txt"],
    ["a%2F..%2Fb", "a-2F..-2Fb"],
    ["a?b#c&d=e", "a-b-c-d-e"],
    ["", "file"],
    [`${"x".repeat(250)}.jpeg`, `${"x".repeat(95)}.jpeg`],
    ["x".repeat(250), "x".repeat(100)],
  ])("the name in an address of %j is %j", (name, safe) => {
    expect(safeName(name)).toBe(safe);
  });

  test("the name in an address is valid there for any file name", () => {
    fc.assert(
      fc.property(names, (name) => {
        const safe = safeName(name);
        expect(oneFile.safeParse({ source_id: ID, file_name: safe }).success).toBe(true);
        expect(encodeURIComponent(safe)).toBe(safe);
        expect(safe.length).toBeLessThanOrEqual(100);
        expect(safeName(safe)).toBe(safe);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the name that people see", () => {
  test.each([
    ["ä b.png", "ä b.png"],
    ["C:\\temp\\x.txt", "x.txt"],
    ["a\r\n\0b.wav", "ab.wav"],
    ["", "file"],
    ["/", "file"],
    ["\n", "file"],
    ["\ud83d.png", ".png"],
    [`${"👍".repeat(100)}a`, `${"👍".repeat(99)}a`],
  ])("the shown name of %j is %j", (sent, shown) => {
    expect(shownName(sent)).toBe(shown);
  });

  test("the shown name of any sent name is valid for an upload", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 400 }), (sent) => {
        expect(createUpload.shape.name.parse(shownName(sent))).toBeTruthy();
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("Content-Disposition", () => {
  test.each([
    ...["image/png", "image/jpeg", "audio/mpeg", "video/mp4", "audio/x-m4a", "text/plain"],
    ...["Text/Plain; charset=utf-8", "text/plain ;charset=utf-8", "application/json"],
  ])("a file of type %s is shown in the browser", (type) => {
    expect(disposition("a", type)).toMatch(/^inline;/);
  });

  test.each([
    ...["text/html", "TEXT/HTML", "text/html; charset=utf-8", "text/html ;x"],
    ...["application/xhtml+xml", "image/svg+xml", "Image/SVG+XML", "text/xml", "application/xml"],
    ...["application/rss+xml", "video/xhtml+xml", "audio/x.+xml", "text/javascript"],
    ...["application/javascript", "application/pdf", "text/css", "multipart/x-mixed-replace"],
    ...["application/octet-stream", "text/plain;,text/html", "image/png; a=b, text/html"],
    ...["text/plain, text/html", "xtext/plain", "text/plainx", ""],
  ])("a file of type %s is a download", (type) => {
    expect(disposition("a", type)).toMatch(/^attachment;/);
  });

  test.each([
    ["photo.png", `filename="photo.png"; filename*=UTF-8''photo.png`],
    [`a"b.png`, `filename="a_b.png"; filename*=UTF-8''a%22b.png`],
    [
      `a"; filename="evil.exe`,
      `filename="a_; filename=_evil.exe"; filename*=UTF-8''a%22%3B%20filename%3D%22evil.exe`,
    ],
    ["a%41.png", `filename="a_41.png"; filename*=UTF-8''a%2541.png`],
    [
      "a\r\nset-cookie: x=1",
      `filename="a__set-cookie: x=1"; filename*=UTF-8''a%0D%0Aset-cookie%3A%20x%3D1`,
    ],
    ["é.png", `filename="_.png"; filename*=UTF-8''%C3%A9.png`],
    ["a'(b)*.png", `filename="a'(b)*.png"; filename*=UTF-8''a%27%28b%29%2A.png`],
  ])("Content-Disposition encodes the name %j", (name, expected) => {
    expect(disposition(name, "image/png")).toBe(`inline; ${expected}`);
  });

  test("Content-Disposition is one header of printable ASCII that encodes any name exactly", () => {
    fc.assert(
      fc.property(names, (name) => {
        const header = disposition(name, "image/png");
        const [, ascii = "", exact = ""] =
          /^inline; filename="([^"\\]*)"; filename\*=UTF-8''([\w.~!$&+^`|#%-]+)$/.exec(header) ??
          [];
        expect(ascii).toMatch(/^[\x20-\x7e]+$/);
        expect(decodeURIComponent(exact)).toBe(name);
        expect(new Headers({ "content-disposition": header }).get("content-disposition")).toBe(
          header,
        );
      }),
      { numRuns: 1_000 },
    );
  });
});
