/** Fetches a picture of another host: only from public addresses, and within limits of size and time. */
import { imageTypeOf } from "../domain/files/file-type.ts";
import type { WebhookSettings } from "../env.ts";
import { TimeLimit } from "../lib/timeout.ts";
import { checkResolvedUrl, ResolutionFailed } from "./resolve.ts";

const MAX_BYTES = 5 * 1024 ** 2;
const MAX_REDIRECTS = 3;

/** How long Cloudflare keeps a picture, so that few requests reach its host. */
const CACHE_SECONDS = 86_400;

export interface Picture {
  /** The media type, by the bytes: what the host declares is not trusted. */
  type: string;
  /** Breaks off with an error after 5 MiB or the time limit. */
  body: ReadableStream<Uint8Array>;
}

/** @returns a text instead of a picture: why there is none, for users */
export async function fetchPicture(
  address: string,
  settings: WebhookSettings,
): Promise<Picture | string> {
  const limit = new TimeLimit(settings.timeoutMs);
  const picture = await attempt(address, settings, limit).catch((error: unknown) => {
    if (error instanceof ResolutionFailed) return error.message;
    return limit.isOver
      ? `no response within ${settings.timeoutMs / 1_000} s`
      : "its host could not be reached";
  });
  if (typeof picture === "string") limit.callOff();
  return picture;
}

async function attempt(
  address: string,
  settings: WebhookSettings,
  limit: TimeLimit,
): Promise<Picture | string> {
  const response = await follow(address, settings, limit.signal);
  if (typeof response === "string") return response;
  if (Number(response.headers.get("content-length")) > MAX_BYTES) {
    await response.body?.cancel();
    return TOO_LARGE;
  }
  const reader = response.body?.getReader();
  const { value: start = new Uint8Array() } = (await reader?.read()) ?? {};
  const type = imageTypeOf(start);
  if (reader && type !== undefined) return { type, body: bounded(start, reader, limit) };
  await reader?.cancel();
  return "it is not a PNG, JPEG, WebP, GIF or AVIF";
}

const TOO_LARGE = "it is larger than 5 MiB";

/** Follows redirects. Each URL is checked, since a public host can redirect to a private address. */
async function follow(
  address: string,
  settings: WebhookSettings,
  signal: AbortSignal,
): Promise<Response | string> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const refusal = await checkResolvedUrl(url, settings, signal);
    if (refusal) return refusal;
    const response = await fetch(url, {
      headers: { accept: "image/png, image/jpeg, image/webp, image/gif, image/avif" },
      redirect: "manual",
      signal,
      cf: { cacheEverything: true, cacheTtlByStatus: { "200-299": CACHE_SECONDS } },
    });
    if (response.ok) return response;
    await response.body?.cancel();
    const location = response.headers.get("location");
    const next = location === null ? null : URL.parse(location, url);
    if (response.status < 300 || response.status > 399 || !next)
      return `its host responded with status ${response.status}`;
    url = next;
  }
  return `its host redirects more than ${MAX_REDIRECTS} times`;
}

/** Passes the bytes on as they arrive, so that an isolate never holds a whole picture. */
function bounded(
  start: Uint8Array,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  limit: TimeLimit,
): ReadableStream<Uint8Array> {
  let left = MAX_BYTES - start.byteLength;
  return new ReadableStream({
    start: (controller) => controller.enqueue(start),
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) left -= value.byteLength;
      if (!done && left >= 0) return controller.enqueue(value);
      limit.callOff();
      if (done) return controller.close();
      controller.error(new Error(TOO_LARGE));
      await reader.cancel();
    },
    cancel(reason) {
      limit.callOff();
      return reader.cancel(reason);
    },
  });
}
