/**
 * The upload of one blob to a registry, in chunks that its zone takes. After a break the registry says
 * what it has, and the upload goes on from there.
 */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { retryDelayMs } from "../../../runner/src/control-plane/json-client.ts";
import { isRetryable, statusOf } from "../../../runner/src/lib/error.ts";
import { sleep } from "../../lib/timeout.ts";
import { type RegistryClient, RegistryError, registryError } from "./registry-client.ts";

/** Covers about a minute and a half without progress. */
const MAX_FAILURES = 10;
const DELAYS = { baseMs: 500, maxMs: 15_000 };
/** A server that refuses a chunk closes the connection. A retry waits this long for an early answer. */
const EARLY_ANSWER_MS = 500;

/** No retry helps: what came before is not there to be sent again. */
const LOST = { status: 409 };

const MIB = 1024 * 1024;
/** Below the limit of Cloudflare's smaller plans, 100 MB. */
const USUAL_CHUNK_BYTES = 80 * MIB;
/** A chunk stays this far below the announced maximum, so that it ends at a part of the registry. */
const ROOM_BYTES = 64 * 1024;
const LEAST_CHUNK_BYTES = MIB;

export interface UploadState {
  location: string;
  chunkBytes: number;
  leastChunkBytes: number;
}

export interface UploadEvents {
  /** Bytes that were sent; negative if they are sent again. */
  onSent?: (bytes: number) => void;
  /** The state is saved so that another process can resume the upload. */
  onState?: (state: UploadState) => Promise<void>;
}

export class BlobUpload {
  readonly #client: RegistryClient;
  readonly #events: UploadEvents;
  #state: UploadState;
  #offset: number;

  /** @param offset the bytes that the registry has */
  private constructor(
    client: RegistryClient,
    state: UploadState,
    events: UploadEvents,
    offset: number,
  ) {
    this.#client = client;
    this.#state = state;
    this.#events = events;
    this.#offset = offset;
  }

  /** Begins an upload. @param url where uploads of the repository begin */
  static async begin(
    client: RegistryClient,
    url: URL,
    events: UploadEvents = {},
  ): Promise<BlobUpload> {
    const { headers } = await client.retried(url, { method: "POST" }, [202]);
    const location = client.urlOf(headers.location ?? "").href;
    const state = { location, ...chunkSizes(headers) };
    await events.onState?.(state);
    return new BlobUpload(client, state, events, 0);
  }

  /** Resumes an upload. Returns undefined if the registry no longer has it. */
  static async resume(
    client: RegistryClient,
    state: UploadState,
    events: UploadEvents = {},
  ): Promise<BlobUpload | undefined> {
    const upload = new BlobUpload(client, state, events, 0);
    const response = await client.retried(
      client.urlOf(state.location),
      { method: "GET" },
      [204, 400, 404, 416],
    );
    if (response.status !== 204) return undefined;
    const offset = offsetIn(response.headers.range);
    await upload.#moveTo(response.headers.location, offset);
    return upload;
  }

  /** The number of bytes that the registry has. */
  get offset(): number {
    return this.#offset;
  }

  /** Appends the content from this place on. @throws ControlPlaneError; the signal's reason */
  async append(content: Content, from = 0): Promise<void> {
    const base = this.#offset - from;
    const { signal } = this.#client;
    let failures = 0;
    let furthest = this.#offset;
    const end = base + content.size;
    while (this.#offset < end) {
      try {
        if (failures > 0) await this.#ask(base);
        // The registry may have taken the chunk although its answer was lost.
        if (this.#offset === end) return;
        await this.#sendChunk(content, base, failures > 0 ? EARLY_ANSWER_MS : 0);
        failures = 0;
      } catch (error) {
        signal.throwIfAborted();
        if (this.#offset > furthest) failures = 0;
        furthest = Math.max(furthest, this.#offset);
        failures += 1;
        if (!this.#canGoOn(error) || failures > MAX_FAILURES) throw error;
        const delayMs = retryDelayMs(error, failures, DELAYS);
        this.#client.onRetry(error, delayMs);
        if (!(await sleep(delayMs, signal))) signal.throwIfAborted();
      }
    }
  }

  /** Ends the upload: the registry compares all bytes with the digest. */
  async finish(digest: string): Promise<void> {
    const url = this.#client.urlOf(this.#state.location);
    url.searchParams.set("digest", digest);
    await this.#client.retried(url, { method: "PUT" }, [201, 204]);
  }

  /** Cancels the upload. If that fails, the upload ends a day later, so nothing else fails because of it. */
  async cancel(): Promise<void> {
    const url = this.#client.urlOf(this.#state.location);
    await this.#client
      .retried(url, { method: "DELETE" }, [202, 204, 404, 405])
      .catch(() => this.#client.signal.throwIfAborted());
  }

  async #sendChunk(content: Content, base: number, waitMs: number): Promise<void> {
    const start = this.#offset - base;
    const end = Math.min(start + this.#state.chunkBytes, content.size);
    const length = end - start;
    let sent = 0;
    const count = (bytes: number) => {
      sent += bytes;
      this.#events.onSent?.(bytes);
    };
    try {
      const { status, headers, body } = await this.#client.send(
        this.#client.urlOf(this.#state.location),
        {
          method: "PATCH",
          headers: { "content-range": `${this.#offset}-${this.#offset + length - 1}` },
          content: counted(content.read(start, end), count),
          length,
          waitMs,
        },
      );
      if (status !== 202 && status !== 204 && status !== 201)
        throw registryError(status, headers["retry-after"], body);
      const sentTo = this.#offset + length;
      // `0-0` after one byte is that byte.
      const isTold = headers.range !== undefined && sentTo > 1;
      await this.#moveTo(headers.location, isTold ? offsetIn(headers.range) : sentTo);
      this.#events.onSent?.(this.#offset - base - start - sent);
    } catch (error) {
      this.#events.onSent?.(-sent);
      throw error;
    }
  }

  /** Asks the registry for the bytes that it has. */
  async #ask(base: number): Promise<void> {
    const url = this.#client.urlOf(this.#state.location);
    const { headers } = await this.#client.call(url, { method: "GET" }, [204]);
    const before = this.#offset;
    await this.#moveTo(headers.location, offsetIn(headers.range));
    this.#events.onSent?.(this.#offset - before);
    if (this.#offset < base)
      throw new RegistryError("The registry lost the upload", "BLOB_UPLOAD_INVALID", LOST);
  }

  async #moveTo(location: string | undefined, offset: number): Promise<void> {
    this.#offset = offset;
    if (!location) return;
    this.#state = { ...this.#state, location: this.#client.urlOf(location).href };
    await this.#events.onState?.(this.#state);
  }

  /** Whether a retry helps: a transient error, another offset, or a smaller chunk. */
  #canGoOn(error: unknown): boolean {
    const status = statusOf(error);
    // The registry's own 413 has a code: a blob that large is refused in any chunks.
    const isEdge = status === 413 && error instanceof RegistryError && error.code === "UNKNOWN";
    if (isEdge && this.#state.chunkBytes > this.#state.leastChunkBytes) {
      const half = Math.floor(this.#state.chunkBytes / 2);
      this.#state.chunkBytes = Math.max(half, this.#state.leastChunkBytes);
      return true;
    }
    return status === 416 || isRetryable(error);
  }
}

/** `0-1023`, also with `bytes=`. Without any there is no byte; `0-0` is how some say so. */
function offsetIn(range: string | undefined): number {
  const [, last = "0"] = /^(?:bytes[= ])?0-(\d+)$/.exec(range ?? "") ?? [];
  return last === "0" ? 0 : Number(last) + 1;
}

function chunkSizes(
  headers: IncomingHttpHeaders,
): Pick<UploadState, "chunkBytes" | "leastChunkBytes"> {
  const numberIn = (name: string) =>
    Number(/^\d{1,12}$/.exec(String(headers[name] ?? ""))?.[0] ?? 0);
  const least = Math.max(numberIn("oci-chunk-min-length"), LEAST_CHUNK_BYTES);
  const most = numberIn("oci-chunk-max-length");
  const chunkBytes = most > 0 ? most - ROOM_BYTES : USUAL_CHUNK_BYTES;
  return { chunkBytes: Math.max(chunkBytes, least), leastChunkBytes: least };
}

async function* counted(
  bytes: AsyncIterable<Buffer> | Iterable<Buffer>,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    yield chunk;
    count(chunk.length);
  }
}

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
