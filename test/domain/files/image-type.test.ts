/** Image types, recognized by the first bytes. */
import { expect, test } from "vitest";
import { imageTypeOf } from "../../../src/domain/files/file-type.ts";

const bytesOf = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

test.each([
  ["image/png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"],
  ["image/jpeg", "\xff\xd8\xff\xe0\0\x10JFIF\0"],
  ["image/jpeg", "\xff\xd8\xff\xe1\0\x10Exif\0"],
  ["image/gif", "GIF87a\x01\0"],
  ["image/gif", "GIF89a\x01\0"],
  ["image/webp", "RIFF\n\0\r\nWEBPVP8 "],
])("a picture of type %s is recognized by its bytes", (type, text) => {
  expect(imageTypeOf(bytesOf(text))).toBe(type);
});

test.each([
  ...["", "\x89PNG", "\x89PNG\n\x1a\n", "PNG\r\n\x1a\n", " GIF89a", "GIF88a", "\xff\xd8"],
  ...["RIFF\0\0\0\0WAVEfmt ", "RIFF\0\0\0\0WEB"],
  '<svg xmlns="http://www.w3.org/2000/svg"/>',
  "<html>GIF89a",
  "BM\0\0\0\0\0\0",
])("%j is not recognized as a picture", (text) => {
  expect(imageTypeOf(bytesOf(text))).toBeUndefined();
});
