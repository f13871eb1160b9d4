/** Joins WAV files, which models give one after the other, into one of unknown length. */
import { formatOf } from "./sound-type.ts";
import { TranslationFailed } from "./translation.ts";

/** The length in a header that was written before the length was known. */
const UNKNOWN = 0xffff_ffff;

const CHUNKS_AT = 12;
const CHUNK_HEAD = 8;

/**
 * Returns a file as a part of the whole: the first one gets a header with an unknown length, the others lose
 * their headers. Files of other formats stay as they are, since these can be joined.
 * @throws TranslationFailed
 */
export function wavPart(bytes: Uint8Array, type: string, isFirst: boolean): Uint8Array {
  if (formatOf(type) !== "wav") return bytes;
  const samplesAt = dataAt(bytes);
  if (samplesAt === undefined)
    throw new TranslationFailed("The model's output has a WAV file without samples.");
  if (!isFirst) return bytes.subarray(samplesAt);
  const first = bytes.slice();
  const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
  view.setUint32(4, UNKNOWN, true);
  view.setUint32(samplesAt - 4, UNKNOWN, true);
  return first;
}

/** Returns where the samples begin. */
function dataAt(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const nameAt = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (nameAt(0) !== "RIFF" || nameAt(8) !== "WAVE") return undefined;
  for (let at = CHUNKS_AT; at + CHUNK_HEAD <= bytes.length; ) {
    if (nameAt(at) === "data") return at + CHUNK_HEAD;
    const size = view.getUint32(at + 4, true);
    at += CHUNK_HEAD + size + (size % 2);
  }
  return undefined;
}
