/** Uploads a file in parts to signed URLs: several in parallel, each with its own retries. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import pLimit from "p-limit";
import { partLength } from "../../../src/protocol/upload.ts";
import {
  type CallRetry,
  problemDetail,
  retryAfterMs,
  retryCall,
} from "../control-plane/json-client.ts";
import { ControlPlaneError, messageOf } from "../lib/error.ts";
import { type BodyRequest, IDLE_TIMEOUT_MS, sendBody } from "../lib/http-client.ts";

/** Covers about 45 s of an unreachable service, so that a short outage does not fail the upload. */
const RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/**
 * A server that rejects a part closes the connection while the part is still being sent (EPIPE),
 * and its response is lost. On retries it gets this long to respond before the content is sent.
 */
const EARLY_ANSWER_MS = 500;

export interface Parts {
  /** The file's path. */
  file: string;
  /** The bytes of the file, and of each part but the last. */
  size: number;
  partSize: number;
  /** The time of the last modification, if known from before. */
  mtimeMs?: number;
  /** The signed URLs to which the parts are PUT, in order. No credentials are sent. */
  urls: string[];
  /** Parts that were already uploaded: their numbers, from 1, and ETags. */
  completed?: ReadonlyMap<number, string>;
  /** How many parts are sent in parallel. */
  parallel: number;
  signal: AbortSignal;
  /** Called with the number of bytes sent; negative if a failed part is sent again. */
  onSent?: (bytes: number) => void;
  /** Called before a failed part is sent again. */
  onRetry?: (error: unknown, delayMs: number) => void;
  /** A part without progress for this long is sent again. */
  idleMs?: number;
}

/** The file cannot be read, or has changed since the upload was created. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/**
 * @returns the ETags, in the order of the parts
 * @throws FileError, ControlPlaneError, the signal's reason
 */
export async function sendParts(parts: Parts): Promise<string[]> {
  const { file, size, urls, completed, parallel, signal } = parts;
  const { mtimeMs = await modifiedAt(file, size) } = parts;
  await requireUnchanged(file, size, mtimeMs);
  const etags = urls.map((_, index) => completed?.get(index + 1) ?? "");
  const missing = [...etags.keys()].filter((index) => etags[index] === "");
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const retries = { ...RETRIES, signal: stop, onRetry: parts.onRetry };
  // The first failure stops the others, and all have ended when this returns.
  const limit = pLimit(parallel);
  const send = (index: number) =>
    limit(async () => {
      stop.throwIfAborted();
      etags[index] = await sendPart(parts, index, retries);
      await requireUnchanged(file, size, mtimeMs);
    }).catch((error: unknown) => failed.abort(error));
  await Promise.all(missing.map(send));
  stop.throwIfAborted();
  return etags;
}

async function requireUnchanged(file: string, size: number, mtimeMs: number): Promise<void> {
  if ((await modifiedAt(file, size)) !== mtimeMs) throw changed(file);
}

/** @throws FileError, also if the size differs */
async function modifiedAt(file: string, size: number): Promise<number> {
  const now = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (now.size !== size) throw changed(file);
  return now.mtimeMs;
}

const changed = (file: string) =>
  new FileError(`${file} changed during the upload. Upload it again once nothing writes to it`);

const unreadable = (file: string, cause: unknown) =>
  new FileError(`${file} cannot be read`, { cause });

function sendPart(parts: Parts, index: number, retries: CallRetry): Promise<string> {
  const { signal } = retries;
  let waitMs = 0;
  return retryCall(() => {
    const answer = tryPart(parts, index, { signal, waitMs });
    waitMs = EARLY_ANSWER_MS;
    return answer;
  }, retries);
}

async function tryPart(
  parts: Parts,
  index: number,
  { signal, waitMs }: Required<Pick<BodyRequest, "signal" | "waitMs">>,
): Promise<string> {
  const { file, size, partSize, urls, onSent, idleMs = IDLE_TIMEOUT_MS } = parts;
  const length = partLength(size, partSize, index + 1);
  let sent = 0;
  const count = (bytes: number) => {
    sent += bytes;
    onSent?.(bytes);
  };
  try {
    const content = read(file, index * partSize, length, count);
    return await put(new URL(urls[index] ?? ""), {
      content,
      length,
      waitMs,
      signal,
      idleMs,
    });
  } catch (error) {
    onSent?.(-sent);
    signal.throwIfAborted();
    if (!(error instanceof ControlPlaneError)) throw error;
    const { status, retryAfterMs } = error;
    const message = `part ${index + 1} of ${urls.length}: ${error.message}`;
    throw new ControlPlaneError(message, { status, retryAfterMs });
  }
}

/** Reads a part of the file; each chunk is counted once it was written to the connection. */
async function* read(
  file: string,
  start: number,
  length: number,
  count: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let left = length;
  try {
    for await (const chunk of createReadStream(file, { start, end: start + length - 1 })) {
      left -= chunk.length;
      yield chunk;
      count(chunk.length);
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  if (left > 0) throw changed(file);
}

/** Makes one attempt. @returns the part's ETag */
async function put(url: URL, part: Omit<BodyRequest, "method">): Promise<string> {
  try {
    const { status, headers, body } = await sendBody(url, { method: "PUT", ...part });
    if (status === 200 && headers.etag) return headers.etag;
    const why = status === 200 ? "the response has no ETag" : problemDetail(status, body);
    const retryAfter = headers["retry-after"];
    throw new ControlPlaneError(why, { status, retryAfterMs: retryAfterMs(retryAfter) });
  } catch (error) {
    if (error instanceof ControlPlaneError || error instanceof FileError) throw error;
    throw new ControlPlaneError(`${url.host}: ${messageOf(error)}`);
  }
}
