/** The header of a WAV file. */

/** The length in a header that was written before the length was known. */
export const UNKNOWN_LENGTH = 0xffff_ffff;

/** PCM, floats, and either of them with its details in an extension: a sample takes a fixed number of bytes. */
const UNCOMPRESSED = [1, 3, 0xfffe];

const CHUNKS_AT = 12;
const CHUNK_HEAD = 8;

interface Chunk {
  name: string;
  /** The offset of its content. */
  at: number;
  size: number;
}

function* chunksOf(bytes: Uint8Array): Generator<Chunk> {
  const view = viewOf(bytes);
  const nameAt = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));
  if (nameAt(0) !== "RIFF" || nameAt(8) !== "WAVE") return;
  for (let at = CHUNKS_AT; at + CHUNK_HEAD <= bytes.length; ) {
    const size = view.getUint32(at + 4, true);
    yield { name: nameAt(at), at: at + CHUNK_HEAD, size };
    at += CHUNK_HEAD + size + (size % 2);
  }
}

const viewOf = (bytes: Uint8Array) =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Returns where the samples begin; undefined without any. */
export const samplesAt = (bytes: Uint8Array): number | undefined =>
  [...chunksOf(bytes)].find(({ name }) => name === "data")?.at;

/** A header with its chunks is in the first bytes of a file. */
export const HEADER_BYTES = 65_536;

/**
 * Returns the duration that the header of a WAV file says; undefined for other files and for compressed sound.
 * @param head the first HEADER_BYTES of the file, or all
 * @param size of the file, in bytes
 */
export function wavSeconds(head: Uint8Array, size: number): number | undefined {
  const chunks = [...chunksOf(head)];
  const format = chunks.find(({ name }) => name === "fmt ");
  const data = chunks.find(({ name }) => name === "data");
  if (!format || !data || format.at + 16 > head.length) return undefined;
  const view = viewOf(head);
  if (!UNCOMPRESSED.includes(view.getUint16(format.at, true))) return undefined;
  const perSecond = view.getUint32(format.at + 4, true) * view.getUint16(format.at + 12, true);
  if (perSecond === 0) return undefined;
  const bytes = data.size === 0 ? size : data.size;
  return Math.min(bytes, size - data.at) / perSecond;
}
