/**
 * Unpacks a layer while it arrives. Its owner may have put anything into it: it may have the files that
 * are listed for it and no others, each with the size and digest that are listed, and folders.
 */
import { createHash } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { pipeline, Readable, Transform, type TransformCallback } from "node:stream";
import * as zlib from "node:zlib";
import { extract, type Header } from "tar-stream";
import { external, internal } from "../../../src/run/failure.ts";
import {
  type Compression,
  type LayerFile,
  pathProblem,
  type WeightLayer,
} from "./weight-manifest.ts";

const CHUNK_BYTES = 1024 * 1024;

/** The paths of a file while it is written, and once it is verified. */
export interface FileTarget {
  temporary: string;
  path: string;
}

export interface Unpacking {
  layer: WeightLayer;
  bytes: AsyncIterable<Buffer>;
  /** Returns undefined for a file that is there. */
  targetOf: (file: LayerFile) => FileTarget | undefined;
  /** Called with each file that is at its final path. */
  onFile: (file: LayerFile) => Promise<void>;
}

/** @throws Failure; what the bytes throw */
export async function unpackLayer({ layer, bytes, targetOf, onFile }: Unpacking): Promise<void> {
  const left = new Map(layer.files.map((file) => [file.path, file]));
  const unpacked = extract();
  const ended = Promise.withResolvers<void>();
  // The error of a refused entry is thrown instead of this rejection.
  ended.promise.catch(() => {});
  const steps = [
    Readable.from(bytes, { objectMode: false, highWaterMark: CHUNK_BYTES }),
    ...decompressor(layer.compression),
    limit(layer.maxBytes),
    unpacked,
  ];
  pipeline(steps, (error) => (error ? ended.reject(error) : ended.resolve()));
  try {
    for await (const entry of unpacked) {
      const file = expectedFile(entry.header, left);
      const to = file && targetOf(file);
      if (!file || !to) {
        entry.resume();
        continue;
      }
      await writeFile(Readable.from(entry), file, to);
      await onFile(file);
    }
    // The pipeline ends later than the last entry: the checksum of a compressed layer comes last.
    await ended.promise;
  } catch (error) {
    // The pipeline's end is not awaited: the bytes may be on their way for long.
    unpacked.destroy(error instanceof Error ? error : undefined);
    throw asFailure(error);
  }
  const [missing] = left.keys();
  if (missing !== undefined) throw external(`the layer ${layer.digest} is missing ${missing}`);
}

/**
 * The file that an entry is, once. @returns undefined for a folder
 * @throws Failure for anything else
 */
export function expectedFile(
  { type, name, size }: Pick<Header, "type" | "name" | "size">,
  left: Map<string, LayerFile>,
): LayerFile | undefined {
  const path = name.replace(/^(?:\.\/)+/, "").replace(/\/$/, "");
  const shown = JSON.stringify(name.slice(0, 200));
  if (type === "directory" && (path === "" || path === "." || !pathProblem(path))) return undefined;
  if (type !== "file" && type !== "contiguous-file") {
    throw external(`a layer contains ${shown}, which is neither a file nor a folder (${type})`);
  }
  const file = left.get(path);
  if (!file) throw external(`a layer contains ${shown}, which is not listed`);
  if (file.size !== size) {
    throw external(`${path} has ${size} bytes, but ${file.size} are listed`);
  }
  left.delete(path);
  return file;
}

async function writeFile(
  bytes: AsyncIterable<Uint8Array>,
  file: LayerFile,
  { temporary, path }: FileTarget,
): Promise<void> {
  const handle = await open(temporary, "wx", 0o600);
  try {
    const digest = await copy(bytes, handle);
    if (digest !== file.digest)
      throw external(`the digest of ${file.path} does not match the listed one`);
    await handle.chmod(0o444);
    // After `sync`, a file of the right size in its place is complete even after a power failure.
    await handle.sync();
    await rename(temporary, path);
  } finally {
    await handle.close();
    await rm(temporary, { force: true });
  }
}

async function copy(bytes: AsyncIterable<Uint8Array>, handle: FileHandle): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of bytes) {
    hash.update(chunk);
    for (let written = 0; written < chunk.length; ) {
      written += (await handle.write(chunk, written)).bytesWritten;
    }
  }
  return `sha256:${hash.digest("hex")}`;
}

const CHUNKS = { chunkSize: 256 * 1024 };

function decompressor(compression: Compression): Transform[] {
  if (compression === "none") return [];
  if (compression === "gzip") return [zlib.createGunzip(CHUNKS)];
  if (zlib.createZstdDecompress) return [zlib.createZstdDecompress(CHUNKS)];
  throw internal(
    "the weights are compressed with zstd, which requires Node.js 22.15 or later on the runner. The operator must update Node.js",
  );
}

/** Fails on a layer that unpacks into more bytes than its limit. */
function limit(maxBytes: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback) {
      size += chunk.length;
      if (size <= maxBytes) done(null, chunk);
      else done(external("a layer contains more than its listed files"));
    },
  });
}

/** zlib's errors and tar-stream's are about the bytes, all others about this machine or the service. */
function asFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error.constructor !== Error) return error;
  const code = "code" in error ? String(error.code) : "";
  if (code !== "" && !/^Z(?:STD)?_/.test(code)) return error;
  return external(`a layer cannot be unpacked: ${error.message}`, { cause: error });
}
