/** The `Content-Type` of a file is never one that a browser would run or style a page with. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { imageTypeOf, isInline, servedType } from "../../../src/domain/files/file-type.ts";
import { extensionOf, madeName, typeOfName } from "../../../src/domain/files/media-types.ts";

/** JavaScript MIME types of the MIME Sniffing Standard, and the types that make or style a page. */
const RUN = [
  ..."javascript ecmascript x-javascript x-ecmascript".split(" ").map((of) => `application/${of}`),
  ..."javascript ecmascript x-javascript x-ecmascript jscript livescript".split(" ").map(textual),
  ...[0, 1, 2, 3, 4, 5].map((minor) => `text/javascript1.${minor}`),
  ..."css html xml xsl".split(" ").map(textual),
  ..."xhtml+xml xml xslt+xml wasm mathml+xml".split(" ").map((of) => `application/${of}`),
  "multipart/x-mixed-replace",
];

function textual(of: string) {
  return `text/${of}`;
}

describe("what a browser runs", () => {
  test.each(RUN)("a file of type %s is served as bytes", (type) => {
    for (const form of [type, type.toUpperCase(), `${type}; charset=utf-8`, `${type} ;a="b"`])
      expect([servedType(form), isInline(form)]).toEqual(["application/octet-stream", false]);
  });

  test("a type that a browser runs is not served behind another type or inside an invalid one", () => {
    const around = fc.constantFrom("", " ", "text/plain,", "text/plain;,", '"', "\t", "a/b;x=,");
    fc.assert(
      fc.property(around, fc.constantFrom(...RUN), around, (before, type, after) => {
        expect(servedType(`${before}${type}${after}`)).toBe("application/octet-stream");
      }),
    );
  });
});

test.each([
  ...["image/png", "image/svg+xml", "audio/mpeg", "application/pdf", "application/zip"],
  ...["application/json", "text/csv; charset=utf-8", "model/gltf-binary"],
  ...["text/plain; note=script"],
])("a file of type %s is served with that type", (type) => {
  expect(servedType(type)).toBe(type);
});

test("a type that is shown in the browser is never changed", () => {
  const name = fc.stringMatching(/^[\w.+-]{1,10}$/);
  fc.assert(
    fc.property(fc.constantFrom("image", "video", "text", "application"), name, (kind, of) => {
      const type = `${kind}/${of}`;
      fc.pre(isInline(type));
      expect(servedType(type)).toBe(type);
    }),
  );
});

const bytesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ["image/png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"],
  ["image/jpeg", "\xff\xd8\xff\xe0\0\x10JFIF\0"],
  ["image/jpeg", "\xff\xd8\xff\xe1\0\x10Exif\0"],
  ["image/gif", "GIF87a\x01\0"],
  ["image/gif", "GIF89a\x01\0"],
  ["image/webp", "RIFF\n\0\r\nWEBPVP8 "],
  ["image/avif", "\0\0\n ftypavif\0\0"],
])("a picture of type %s is recognized by its bytes", (type, text) => {
  expect(imageTypeOf(bytesOf(text))).toBe(type);
});

test.each([
  ...["", "\x89PNG", "\x89PNG\n\x1a\n", "PNG\r\n\x1a\n", " GIF89a", "GIF88a", "\xff\xd8"],
  ...["RIFF\0\0\0\0WAVEfmt ", "RIFF\0\0\0\0WEB", "\0\0\0 ftypmp42"],
  '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "<html>GIF89a",
  "BM\0\0\0\0\0\0",
])("%j is not recognized as a picture", (text) => {
  expect(imageTypeOf(bytesOf(text))).toBeUndefined();
});

test.each([
  ["audio/mpeg", "mp3"],
  ["Audio/MPEG", "mp3"],
  ["audio/flac", "flac"],
  ["audio/x-wav", "wav"],
  ["audio/ogg; codecs=opus", "ogg"],
  ["image/jpeg", "jpg"],
  ["image/svg+xml", "svg"],
  ["text/plain; charset=utf-8", "txt"],
  ["video/quicktime", "mov"],
  ["audio/m4a", "m4a"],
  ["audio/x-mpeg", "mp3"],
  ["video/avi", "avi"],
  ["video/matroska", "mkv"],
  ["application/x-yaml", "yaml"],
  ["application/x-jsonlines", "jsonl"],
  ["application/ogg", "ogg"],
  ["text/x-markdown", "md"],
  ["application/x-npy", "npy"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/x-unheard-of", undefined],
])("the extension of %s is %s", (type, extension) => {
  expect(extensionOf(type)).toBe(extension);
});

test.each(["mp3", "wav", "flac", "ogg", "jpg", "png", "mov", "mp4", "webm", "txt", "json", "gz"])(
  "a file that is called .%s has a type whose extension is the same",
  (extension) => {
    expect(extensionOf(typeOfName(`a.${extension}`) ?? "")).toBe(extension);
  },
);

test("a file without a name has an extension for every type", () => {
  expect(madeName("file", "image/webp")).toBe("file.webp");
  expect(madeName("file", "application/x-unheard-of")).toBe("file.bin");
});
