/**
 * Stores the bytes of an upload: parts of one length in R2's multipart upload, and a rest that does not fill
 * a part as an object of its own, which the next request continues. Progress is noted with each part, so that
 * an interrupted request loses less than one.
 */
import { nextPiece, PART_BYTES } from "../../domain/registry/chunk.ts";
import { ResumableHash } from "../../domain/registry/resumable-hash.ts";
import { RegistryError } from "../../errors/registry.ts";
import type { ChunkReader } from "../../lib/streams.ts";
import { droppingObject } from "../../storage/registry/blobs.ts";
import { getObject, objectKey, putObject } from "../../storage/registry/objects.ts";
import {
  noteProgress,
  type Progress,
  type RegistryUploadRow,
} from "../../storage/registry/uploads.ts";
import { streamOfLength } from "../../storage/write-meter.ts";
import type { Services } from "../services.ts";

export const offsetOf = ({ parts, rest }: Pick<RegistryUploadRow, "parts" | "rest">): number =>
  parts * PART_BYTES + rest;

/** Bytes for the next piece, in the order in which they come. */
type Pull = () => Promise<Uint8Array | undefined>;

export class UploadWriter {
  readonly #services: Services;
  readonly #row: RegistryUploadRow;
  #progress: Progress;
  #hash: ResumableHash;

  /** @param row the upload's row when this request took it */
  constructor(services: Services, row: RegistryUploadRow) {
    this.#services = services;
    this.#row = row;
    const { multipart_id, parts, rest, rest_key, hash } = row;
    this.#progress = { multipart_id, parts, rest, rest_key, hash };
    this.#hash = new ResumableHash(hash);
  }

  get row(): RegistryUploadRow {
    return { ...this.#row, ...this.#progress };
  }

  /**
   * Stores exactly `length` bytes, and holds none of them in memory.
   * @param check called before each further part
   * @throws RegistryError, ProblemError
   */
  async writeSized(body: ChunkReader, length: number, check: () => Promise<void>): Promise<void> {
    for (let left = length; left > 0; ) {
      if (left < length) await check();
      const { take, fills } = nextPiece(this.#progress.rest, left);
      let missing = take;
      await this.#store(take, fills, async () => {
        if (missing === 0) return undefined;
        const chunk = await body.read(missing);
        if (!chunk) throw tooShort(length);
        missing -= chunk.byteLength;
        return chunk;
      });
      left -= take;
    }
  }

  /** Stores chunks that have been read already. @param fills whether they fill a part */
  async writeChunks(chunks: Uint8Array[], fills: boolean): Promise<void> {
    const length = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await this.#store(length, fills, async () => chunks.shift());
  }

  async #store(take: number, fills: boolean, pull: Pull): Promise<void> {
    const { env } = this.#services;
    const { parts, rest, rest_key } = this.#progress;
    const { readable, writable } = streamOfLength(rest + take);
    const key = objectKey();
    const storing = fills
      ? this.#putPart(parts + 1, readable)
      : putObject(env.IMAGES, key, readable);
    const filling = this.#fill(writable, rest_key, pull);
    // `Promise.all` rejects with the first failure, which is the cause; the other one follows from it.
    const [stored] = await Promise.all([storing, filling]);
    const part = fills && stored ? { part: { number: parts + 1, etag: stored.etag } } : undefined;
    await this.#note(
      fills ? { parts: parts + 1, rest: 0, rest_key: null } : { rest: rest + take, rest_key: key },
      part,
    );
  }

  async #fill(writable: WritableStream<Uint8Array>, restKey: string | null, pull: Pull) {
    const writer = writable.getWriter();
    try {
      if (restKey !== null) {
        const before = await getObject(this.#services.env.IMAGES, restKey);
        if (!before) throw lost();
        for await (const chunk of before.body) await writer.write(chunk);
      }
      for (let chunk = await pull(); chunk; chunk = await pull()) {
        this.#hash.update(chunk);
        await writer.write(chunk);
      }
      await writer.close();
    } catch (error) {
      await writer.abort(error).catch(() => {});
      throw error;
    }
  }

  async #putPart(number: number, body: ReadableStream): Promise<R2UploadedPart> {
    return (await this.#multipart()).uploadPart(number, body);
  }

  async #multipart(): Promise<R2MultipartUpload> {
    const { env } = this.#services;
    const { key } = this.#row;
    const { multipart_id } = this.#progress;
    if (multipart_id !== null) return env.IMAGES.resumeMultipartUpload(key, multipart_id);
    const begun = await env.IMAGES.createMultipartUpload(key);
    this.#progress = { ...this.#progress, multipart_id: begun.uploadId };
    return begun;
  }

  async #note(
    changed: Partial<Progress>,
    part: { part: { number: number; etag: string } } | undefined,
  ): Promise<void> {
    const replaced = this.#progress.rest_key;
    this.#progress = { ...this.#progress, ...changed, hash: this.#hash.state() };
    const { id, holder } = this.#row;
    const progress = this.#progress;
    const note = { id, holder, progress, replaced, now: Date.now(), ...part };
    const { db } = this.#services;
    if (await noteProgress(db, note)) return;
    // The object of the rest is deleted: no row refers to it.
    if (progress.rest_key !== null) await droppingObject(db, progress.rest_key);
    throw superseded();
  }
}

const tooShort = (length: number) =>
  new RegistryError(
    400,
    "SIZE_INVALID",
    `The connection closed before all ${length} bytes of the chunk arrived. GET the upload for its offset, and continue from there.`,
  );

const lost = () =>
  new RegistryError(404, "BLOB_UPLOAD_UNKNOWN", "This upload has ended. Start a new upload.");

/** The error when another request writes to this upload. */
export const superseded = () =>
  new RegistryError(
    416,
    "BLOB_UPLOAD_INVALID",
    "Another request has written to this upload. GET the upload for its offset, and continue from there.",
  );
