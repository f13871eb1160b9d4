/** Uploads a file in parts: several in parallel, each retried, all of them cancelable. */

import { retry } from "../../../lib/retry.ts";
import type { Upload } from "../../../protocol/upload.ts";
import { inAccount } from "./element.ts";
import { post } from "./post.ts";

const PARALLEL = 3;
const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;

interface UploadOptions {
  signal: AbortSignal;
  /** @param sent bytes so far; decreases when a part is retried */
  onProgress(sent: number): void;
}

/**
 * @returns the URL of the upload, to use in an input
 * @throws Error whose message can be shown; the reason of `signal`
 */
export async function upload(file: File, way: UploadOptions): Promise<string> {
  if (file.size === 0) throw new Error(`${file.name} is empty. Choose another file.`);
  const begun: Upload = await postJson(inAccount("/uploads"), metadataOf(file), way.signal);
  try {
    const etags = await sendAll(file, begun, way);
    const whole: Upload = await retried(way.signal, () =>
      postJson(inAccount(`/uploads/${begun.id}/complete`), { etags }, way.signal),
    );
    return whole.url;
  } catch (error) {
    // If this fails too, the upload expires.
    void post(inAccount(`/uploads/${begun.id}/cancel`)).catch(() => {});
    throw error;
  }
}

const postJson = async (address: string, body: object, signal: AbortSignal) =>
  (await post(address, body, signal)).json();

/** The browser's metadata of a file, without what the API would reject. */
const metadataOf = ({ size, type, name }: File) => ({
  size,
  mime_type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream",
  // biome-ignore lint/suspicious/noControlCharactersInRegex: rejected in names of files.
  ...(/^[^/\\\0-\x1f\x7f-\x9f]{1,255}$/.test(name) && name.isWellFormed() && { name }),
});

/** @returns the parts' ETags, in order */
async function sendAll(
  file: File,
  begun: Upload,
  { signal: callerSignal, onProgress }: UploadOptions,
) {
  const { part_size: partSize } = begun;
  // When one part fails, the others stop.
  const stop = new AbortController();
  const signal = AbortSignal.any([callerSignal, stop.signal]);
  const sent = new Map<number, number>();
  const etags: string[] = [];
  let { urls } = begun;
  const send = async (number: number) => {
    const start = (number - 1) * partSize;
    const part = file.slice(start, start + partSize);
    const onSent = (bytes: number) => {
      sent.set(number, bytes);
      onProgress([...sent.values()].reduce((sum, each) => sum + each, 0));
    };
    try {
      return await putPart(urls[number - 1] ?? "", part, { signal, onSent });
    } catch (error) {
      onSent(0);
      // Signed URLs last a day: slow uploads and sleeping laptops take longer.
      if (error instanceof PartError && error.status === 403) urls = await fetchPartUrls(begun.id);
      throw error;
    }
  };
  const numbers = urls.keys();
  const worker = async () => {
    for (const n of numbers) etags[n] = await retried(signal, () => send(n + 1));
  };
  try {
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  } catch (error) {
    stop.abort(error);
    throw error;
  }
  return etags;
}

async function fetchPartUrls(id: string): Promise<string[]> {
  const response = await fetch(inAccount(`/uploads/${id}`), {
    headers: { accept: "application/json" },
  });
  if (!response.ok) throw new Error("The upload has expired. Choose the file again.");
  const { urls }: Upload = await response.json();
  return urls;
}

const retried = <Done>(signal: AbortSignal, act: () => Promise<Done>): Promise<Done> =>
  retry(act, {
    attempts: MAX_ATTEMPTS,
    baseMs: FIRST_PAUSE_MS,
    maxMs: Number.POSITIVE_INFINITY,
    signal,
    isRetryable: (error) => !(signal.aborted || (error instanceof PartError && !error.isRetryable)),
  });

class PartError extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`The upload failed (${status}). Reload the page and try again.`);
    this.status = status;
  }

  /** 403: the signed URL has expired and is renewed. The others may pass. */
  get isRetryable(): boolean {
    return this.status >= 500 || [403, 408, 425, 429].includes(this.status);
  }
}

/** @param onSent called with the bytes sent so far. @returns the part's ETag */
const putPart = (
  address: string,
  part: Blob,
  { signal, onSent }: { signal: AbortSignal; onSent(bytes: number): void },
): Promise<string> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open("PUT", address);
    request.upload.onprogress = ({ loaded }) => onSent(loaded);
    request.onload = () => {
      const etag = request.getResponseHeader("etag");
      if (request.status !== 200 || etag === null) return reject(new PartError(request.status));
      onSent(part.size);
      resolve(etag);
    };
    request.onerror = () =>
      reject(new Error("The connection was lost during the upload. Try again."));
    request.onabort = () => reject(signal.reason);
    request.onloadend = () => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    request.send(part);
  });
