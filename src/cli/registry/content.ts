/** Bytes that can be read again from any place: what an upload goes on with after a break. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

export interface Content {
  readonly size: number;
  /** @param end exclusive */
  read(start: number, end: number): AsyncIterable<Buffer> | Iterable<Buffer>;
}

export async function fileContent(path: string): Promise<Content> {
  const { size } = await stat(path);
  return { size, read: (start, end) => createReadStream(path, { start, end: end - 1 }) };
}

export const bufferContent = (bytes: Buffer): Content => ({
  size: bytes.length,
  read: (start, end) => [bytes.subarray(start, end)],
});
