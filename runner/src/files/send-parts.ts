/** Sends a file in parts to signed addresses: several at a time, each tried again by itself. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { sleep } from "../../../src/lib/timeout.ts";
import { partLength } from "../../../src/protocol/upload.ts";
import { ControlPlaneError, messageOf } from "../control-plane/error.ts";
import { problemDetail, retryAfterMs } from "../control-plane/json-client.ts";
import { type CallRetry, retryCall } from "../control-plane/retry.ts";

/** About 45 s of an unreachable service, so that a short outage is sat out. */
const RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };
/** A part may take as long as it likes, as long as some of it moves. */
const IDLE_TIMEOUT_MS = 60_000;
/**
 * A server that refuses hangs up on what is still being sent, and its words are lost with the line
 * (EPIPE). With every other try it has so long to say them before the part follows.
 */
const EARLY_ANSWER_MS = 500;

export interface Parts {
  /** The path of the file. */
  file: string;
  /** Bytes of the file, and of each part but the last. */
  size: number;
  partSize: number;
  /** When it was last written to, ms, where that is known from before. */
  mtimeMs?: number;
  /** Where each part is PUT, in order. They are signed: no credentials go with them. */
  urls: string[];
  /** Parts that are there already: numbers, from 1, and their ETags. */
  completed?: ReadonlyMap<number, string>;
  /** How many are sent at a time. */
  parallel: number;
  signal: AbortSignal;
  /** Bytes that went out; negative when a part that broke off is begun again. */
  onSent?: (bytes: number) => void;
  /** Before a part that broke off is begun again, in so many ms. */
  onRetry?: (error: unknown, delayMs: number) => void;
  /** A part of which nothing has moved for so long is begun again. */
  idleMs?: number;
}

/** The file cannot be read, or is no longer what the upload was begun with. */
export class FileError extends Error {
  override readonly name = "FileError";
}

/**
 * @returns the ETags in the order of the parts, as the answers have them
 * @throws FileError, ControlPlaneError, the signal's reason
 */
export async function sendParts(parts: Parts): Promise<string[]> {
  const { file, size, urls, completed, parallel, signal } = parts;
  const { mtimeMs = await modifiedAt(file, size) } = parts;
  await requireUnchanged(file, size, mtimeMs);
  const etags = urls.map((_, index) => completed?.get(index + 1) ?? "");
  const missing = [...etags.keys()].filter((index) => etags[index] === "").values();
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const retries = { ...RETRIES, signal: stop, onRetry: parts.onRetry };
  // All take from one list; the first that fails stops the others, and none is left at work.
  const work = async () => {
    for (const index of missing) {
      etags[index] = await sendPart(parts, index, retries);
      await requireUnchanged(file, size, mtimeMs);
    }
  };
  const senders = Array.from({ length: parallel }, () =>
    work().catch((error: unknown) => failed.abort(error)),
  );
  await Promise.all(senders);
  stop.throwIfAborted();
  return etags;
}

async function requireUnchanged(file: string, size: number, mtimeMs: number): Promise<void> {
  if ((await modifiedAt(file, size)) !== mtimeMs) throw changed(file);
}

/** @throws FileError, also when it has another size. */
async function modifiedAt(file: string, size: number): Promise<number> {
  const now = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (now.size !== size) throw changed(file);
  return now.mtimeMs;
}

const changed = (file: string) =>
  new FileError(`${file} changed while it was sent: send it again once nobody writes to it`);

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
  { signal, waitMs }: Pick<Put, "signal" | "waitMs">,
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

/** A piece of the file; each chunk is counted once the line has taken it. */
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

interface Put {
  content: AsyncIterable<Buffer>;
  length: number;
  /** How long an answer is waited for before the content is sent. */
  waitMs: number;
  signal: AbortSignal;
  idleMs: number;
}

/** One try. Not with `fetch`, which would send a stream without saying how long it is. */
async function put(url: URL, { content, length, waitMs, signal, idleMs }: Put): Promise<string> {
  const request = url.protocol === "https:" ? requestSecure : requestPlain;
  const headers = { "content-length": length, "content-type": "application/octet-stream" };
  const outgoing = request(url, { method: "PUT", headers, signal, timeout: idleMs });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`nothing moved for ${idleMs / 1000} s`)));
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on("response", resolve).on("error", reject);
  try {
    if (waitMs > 0) {
      outgoing.flushHeaders();
      await Promise.race([answered, sleep(waitMs)]);
    }
    // An answer that comes before the end is a refusal: what is still to be sent is of no use.
    const answer = await Promise.race([answered, pipeline(content, outgoing).then(() => answered)]);
    const body = await text(answer);
    const { statusCode: status = 0, headers } = answer;
    if (status === 200 && headers.etag) return headers.etag;
    const why = status === 200 ? "it was taken without an ETag" : problemDetail(status, body);
    const retryAfter = headers["retry-after"] ?? null;
    throw new ControlPlaneError(why, { status, retryAfterMs: retryAfterMs(retryAfter) });
  } catch (error) {
    if (error instanceof ControlPlaneError || error instanceof FileError) throw error;
    throw new ControlPlaneError(`${url.host}: ${messageOf(error)}`);
  } finally {
    outgoing.destroy();
  }
}
