import { expect, test } from "vitest";
import { extensionOf, madeName, typeOfName } from "../../../src/domain/files/media-types.ts";

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
