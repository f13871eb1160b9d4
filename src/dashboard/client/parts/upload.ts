/** A file on its way to the service: in parts, some at a time, each tried again, all of it cancellable. */
import { retry } from "../../../lib/retry.ts";
import type { Upload } from "../../../protocol/upload.ts";
import { post } from "./post.ts";
import { PartError, putPart } from "./upload-part.ts";

const PARALLEL = 3;
const MAX_ATTEMPTS = 5;
const FIRST_PAUSE_MS = 500;

interface UploadOptions {
  signal: AbortSignal;
  /** @param sent bytes so far; fewer than before when a part has to go again. */
  onProgress(sent: number): void;
}

/**
 * @returns the upload's address, which an input takes for the file
 * @throws Error whose message can be shown; what `signal` was aborted with
 */
export async function upload(file: File, way: UploadOptions): Promise<string> {
  if (file.size === 0) throw new Error(`${file.name} is empty. Choose another file.`);
  const begun: Upload = await postJson("/uploads", metadataOf(file), way.signal);
  try {
    const etags = await sendAll(file, begun, way);
    const whole: Upload = await retried(way.signal, () =>
      postJson(`/uploads/${begun.id}/complete`, { etags }, way.signal),
    );
    return whole.url;
  } catch (error) {
    // Nobody will go on with it. Where this does not arrive either, it expires.
    void post(`/uploads/${begun.id}/cancel`).catch(() => {});
    throw error;
  }
}

const postJson = async (address: string, body: object, signal: AbortSignal) =>
  (await post(address, body, signal)).json();

/** What a browser knows of a file, where it is fit to be said. */
const metadataOf = ({ size, type, name }: File) => ({
  size,
  mime_type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : "application/octet-stream",
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a file's name may not have here.
  ...(/^[^/\\\0-\x1f\x7f-\x9f]{1,255}$/.test(name) && name.isWellFormed() && { name }),
});

/** @returns the parts' ETags, in order */
async function sendAll(file: File, begun: Upload, { signal: asked, onProgress }: UploadOptions) {
  const { part_size: partSize } = begun;
  // Where one part is given up the others need not go on.
  const stop = new AbortController();
  const signal = AbortSignal.any([asked, stop.signal]);
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
      // Addresses last for a day: a long way, or a laptop that slept, is longer.
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
  const response = await fetch(`/uploads/${id}`, { headers: { accept: "application/json" } });
  if (!response.ok) throw new Error("The upload has expired. Choose the file again.");
  const { urls }: Upload = await response.json();
  return urls;
}

/** Retries what may succeed later, with growing delays. */
const retried = <Done>(signal: AbortSignal, act: () => Promise<Done>): Promise<Done> =>
  retry(act, {
    attempts: MAX_ATTEMPTS,
    baseMs: FIRST_PAUSE_MS,
    maxMs: Number.POSITIVE_INFINITY,
    signal,
    isRetryable: (error) => !(signal.aborted || (error instanceof PartError && !error.isRetryable)),
  });
