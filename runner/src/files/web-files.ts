/** Files in the web: asked for each time, sent again only when they have changed. */
import { setTimeout as sleep } from "node:timers/promises";
import { external } from "../containers/failure.ts";
import { backoff } from "../lib/retry.ts";
import type { FileCache, Held } from "./cache.ts";
import type { Facts } from "./cache-record.ts";
import { webName } from "./file-name.ts";
import { type Fetched, type PublicFetch, Trouble, troubleOf } from "./public-fetch.ts";
import { Shared } from "./shared.ts";
import { Patience, tooLarge, transferred } from "./transfer.ts";

const ATTEMPTS = 3;
const DELAYS = { base: 250, max: 4_000 };

export interface Times {
  /** Without a byte, ms. */
  silence: number;
  /** For one try in all, ms. */
  total: number;
}

/** 10 GB in an hour are 3 MB/s; the deadline of the prediction is most often sooner. */
const TIMES: Times = { silence: 30_000, total: 3_600_000 };

interface Receipt {
  url: URL;
  /** What it is called in the cache. */
  source: string;
  onBytes: () => void;
  asTrouble: (error: unknown) => Trouble;
}

export class WebFiles {
  readonly #fetch: PublicFetch;
  readonly #cache: FileCache;
  readonly #max: number;
  readonly #times: Times;
  readonly #shared = new Shared<Held, undefined>();

  constructor(fetch: PublicFetch, cache: FileCache, max: number, times = TIMES) {
    this.#fetch = fetch;
    this.#cache = cache;
    this.#max = max;
    this.#times = times;
  }

  /**
   * @param key whose file it is: to others it is as if it had never been fetched, since the time
   * that it takes would tell them that somebody has
   * @throws Failure; the signal's reason
   */
  async open(address: string, key: string, signal: AbortSignal): Promise<Held> {
    if (!URL.canParse(address)) throw external("it is no address: use https, or a data URI");
    const url = new URL(address);
    url.hash = "";
    const source = `web:${key}:${url.href}`;
    const work = (stop: AbortSignal) => this.#retried(url, source, stop);
    return this.#shared.join(source, undefined, signal, work);
  }

  async #retried(url: URL, source: string, stop: AbortSignal): Promise<Held> {
    for (let failures = 1; ; failures++) {
      try {
        return await this.#attempt(url, source, stop);
      } catch (error) {
        stop.throwIfAborted();
        if (!(error instanceof Trouble)) throw error;
        if (failures === ATTEMPTS) throw external(error.message, { cause: error });
        const delay = Math.max(error.retryAfterMs, backoff(failures, DELAYS));
        await sleep(delay, undefined, { signal: stop });
      }
    }
  }

  async #attempt(url: URL, source: string, stop: AbortSignal): Promise<Held> {
    const patience = new Patience(this.#times.silence);
    const total = AbortSignal.timeout(this.#times.total);
    const signal = AbortSignal.any([stop, patience.signal, total]);
    const asTrouble = (error: unknown) => troubleOf(url, signal.aborted ? signal.reason : error);
    const known = await this.#cache.find(source);
    try {
      const answer = await this.#fetch.get(url, known?.facts.validators, signal);
      if (known && answer.unchanged) return known;
      known?.release();
      const { refresh: onBytes } = patience;
      return await this.#receive({ url, source, onBytes, asTrouble }, answer);
    } catch (error) {
      known?.release();
      throw signal.aborted ? asTrouble(error) : error;
    } finally {
      patience.end();
    }
  }

  #receive(
    { url, source, onBytes, asTrouble }: Receipt,
    { body, validators }: Fetched,
  ): Promise<Held> {
    const {
      "content-length": length,
      "content-type": type,
      "content-disposition": disposition,
    } = body.headers;
    const expected = length === undefined ? undefined : Number(length);
    if (expected !== undefined && expected > this.#max) throw tooLarge(this.#max);
    const about: Facts = {
      name: webName(url, disposition),
      mime_type: type ?? "application/octet-stream",
      validators,
    };
    const bytes = transferred({ body, max: this.#max, expected, onBytes, asTrouble });
    return this.#cache.store(source, about, bytes, expected);
  }
}
