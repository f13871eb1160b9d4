import { expect, test } from "vitest";
import { samplesAt, wavSeconds } from "../../../src/domain/files/wav.ts";
import { wavOf } from "../../support/wav.ts";

const SECOND = wavOf(1);

test("a WAV file has the duration of its samples, whatever comes before and after them", () => {
  expect(wavSeconds(SECOND, SECOND.length)).toBe(1);
  const more = Buffer.concat([SECOND, Buffer.from("LIST\x03\0\0\0xyz\0", "latin1")]);
  expect(wavSeconds(more, more.length)).toBe(1);
  const list = Buffer.from("LIST\x03\0\0\0xyz\0", "latin1");
  const first = Buffer.concat([SECOND.subarray(0, 12), list, SECOND.subarray(12)]);
  expect(wavSeconds(first, first.length)).toBe(1);
  expect(samplesAt(first)).toBe(56);
});

test.each([0, 0xffff_ffff])("samples of the length %i go on to the end of the file", (length) => {
  const streamed = Buffer.from(SECOND);
  streamed.writeUInt32LE(length, 40);
  expect(wavSeconds(streamed.subarray(0, 100), SECOND.length)).toBe(1);
});

test.each<[string, Uint8Array]>([
  ["other sound", Buffer.from("ID3\x03")],
  ["a header that is cut", SECOND.subarray(0, 30)],
  ["a header without samples", SECOND.subarray(0, 36)],
  ["compressed sound", withFormat(0x11)],
  ["a header without a rate", Buffer.from(SECOND).fill(0, 24, 28)],
])("%s has no duration", (_, bytes) => {
  expect(wavSeconds(bytes, bytes.length)).toBeUndefined();
});

function withFormat(format: number) {
  const wav = Buffer.from(SECOND);
  wav.writeUInt16LE(format, 20);
  return wav;
}
