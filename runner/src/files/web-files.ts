/** Files from the web: requested each time, downloaded again only if they have changed. */

import { safeName } from "../../../src/domain/files/file-name.ts";
import { extensionOf } from "../../../src/domain/files/media-types.ts";
import { retry } from "../../../src/lib/retry.ts";
import { external } from "../../../src/run/failure.ts";
import type { FileInfo } from "./cache-folder.ts";
import type { CachedFile, FileCache } from "./file-cache.ts";
import { type Fetched, type PublicFetch, TransientError, transientError } from "./public-fetch.ts";
import { SharedWork } from "./shared-work.ts";
import { IdleTimeout, limitTransfer, tooLarge } from "./transfer.ts";

const RETRY = { attempts: 3, baseMs: 250, maxMs: 4_000 };

export interface Timeouts {
  /** The timeout without a received byte. */
  idleMs: number;
  /** The timeout of one attempt. */
  totalMs: number;
}

/** 10 GB in an hour are 3 MB/s; usually the prediction's deadline is earlier. */
const TIMEOUTS: Timeouts = { idleMs: 30_000, totalMs: 3_600_000 };

interface Receipt {
  url: URL;
  /** The name of the source in the cache. */
  source: string;
  onBytes: () => void;
  toError: (error: unknown) => TransientError;
}

export class WebFiles {
  readonly #fetch: PublicFetch;
  readonly #cache: FileCache;
  readonly #max: number;
  readonly #times: Timeouts;
  readonly #shared = new SharedWork<CachedFile, undefined>();

  constructor(fetch: PublicFetch, cache: FileCache, max: number, times = TIMEOUTS) {
    this.#fetch = fetch;
    this.#cache = cache;
    this.#max = max;
    this.#times = times;
  }

  /**
   * @param key the owner: for other accounts the file is fetched again, since the response time
   * would reveal that someone has used it
   * @throws Failure; the signal's reason
   */
  async open(address: string, key: string, signal: AbortSignal): Promise<CachedFile> {
    if (!URL.canParse(address)) throw external("not a valid URL. Use an https URL or a data URI");
    const url = new URL(address);
    url.hash = "";
    const source = `web:${key}:${url.href}`;
    const work = (stop: AbortSignal) => this.#retried(url, source, stop);
    return this.#shared.join(source, undefined, signal, work);
  }

  async #retried(url: URL, source: string, stop: AbortSignal): Promise<CachedFile> {
    try {
      return await retry(() => this.#attempt(url, source, stop), {
        ...RETRY,
        signal: stop,
        isRetryable: (error) => error instanceof TransientError && !stop.aborted,
        minDelayMs: (error) => (error instanceof TransientError ? error.retryAfterMs : 0),
      });
    } catch (error) {
      stop.throwIfAborted();
      throw error instanceof TransientError ? external(error.message, { cause: error }) : error;
    }
  }

  async #attempt(url: URL, source: string, stop: AbortSignal): Promise<CachedFile> {
    const idle = new IdleTimeout(this.#times.idleMs);
    const total = AbortSignal.timeout(this.#times.totalMs);
    const signal = AbortSignal.any([stop, idle.signal, total]);
    const toError = (error: unknown) => transientError(url, signal.aborted ? signal.reason : error);
    const cached = await this.#cache.find(source);
    try {
      const answer = await this.#fetch.get(url, cached?.info.validators, signal);
      if (cached && answer.unchanged) return cached;
      cached?.release();
      const { refresh: onBytes } = idle;
      return await this.#receive({ url, source, onBytes, toError }, answer);
    } catch (error) {
      cached?.release();
      throw signal.aborted ? toError(error) : error;
    } finally {
      idle.end();
    }
  }

  #receive(
    { url, source, onBytes, toError }: Receipt,
    { body, validators }: Fetched,
  ): Promise<CachedFile> {
    const {
      "content-length": length,
      "content-type": type,
      "content-disposition": disposition,
    } = body.headers;
    const expected = length === undefined ? undefined : Number(length);
    if (expected !== undefined && expected > this.#max) throw tooLarge(this.#max);
    const info: FileInfo = {
      name: webName(url, disposition),
      mime_type: type ?? "application/octet-stream",
      validators,
    };
    const bytes = limitTransfer({ body, maxBytes: this.#max, expected, onBytes, toError });
    return this.#cache.store(source, info, bytes, expected);
  }
}

/** A name that is safe in URLs and directories, with the media type's extension if it has none. */
export function nameFor(name: string, mimeType: string): string {
  const safe = safeName(name);
  const extension = /\.\w+$/.test(safe) ? undefined : extensionOf(mimeType);
  return extension === undefined ? safe : `${safe}.${extension}`;
}

/** The name that a web server gives, or the last part of the URL. */
export function webName(url: URL, disposition: string | undefined): string {
  const name = filenameParameter(disposition ?? "") ?? url.pathname.split("/").at(-1) ?? "";
  return decoded(name);
}

/** The parameter `filename` of Content-Disposition; the extended form takes precedence. */
function filenameParameter(disposition: string): string | undefined {
  const [, extended] = /;\s*filename\*\s*=\s*UTF-8'[\w-]*'([^;\s]+)/i.exec(disposition) ?? [];
  if (extended !== undefined) return extended;
  const [, quoted, token] =
    /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  return quoted ?? token;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
