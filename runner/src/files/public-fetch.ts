/**
 * Fetches a URL that a user provided, from inside a private network: only from public addresses.
 * The connection goes to the very address that was checked, again for each redirect, without
 * proxies, cookies or credentials.
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { external, Failure } from "../../../src/run/failure.ts";
import { retryAfterMs } from "../control-plane/json-client.ts";
import { messageOf } from "../lib/error.ts";
import { open } from "../lib/http-client.ts";
import type { Validators } from "./cache-folder.ts";
import { type AddressPolicy, permittedLookup, type Resolve, resolveAll } from "./public-address.ts";

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
const TRANSIENT_STATUSES = [408, 425, 429, 500, 502, 503, 504];

/** An error that a retry may not meet again. */
export class TransientError extends Error {
  readonly retryAfterMs: number;

  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Fetched {
  /** Whether the file is the one that the validators belong to. */
  unchanged: boolean;
  body: IncomingMessage;
  /** For the next fetch; without etag and modified if the server sent none. */
  validators: Validators;
}

export class PublicFetch {
  readonly #reach: AddressPolicy;
  readonly #resolve: Resolve;
  readonly #userAgent: string;

  constructor(reach: AddressPolicy, look: Resolve = resolveAll, userAgent = "auspex") {
    this.#reach = reach;
    this.#resolve = look;
    this.#userAgent = userAgent;
  }

  /**
   * @throws Failure if it cannot be fetched, TransientError if it may succeed later. Both name the
   * host but not the rest of the URL, whose query may contain a signature.
   */
  async get(address: URL, known: Validators | undefined, stop: AbortSignal): Promise<Fetched> {
    let url = address;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      this.#check(url);
      // A redirect may lead elsewhere than last time, where the same ETag means another file.
      const conditions = known?.from === urlHash(url) ? conditionsOf(known) : {};
      const response = await this.#request(url, conditions, stop);
      const { statusCode: status = 0, headers } = response;
      const unchanged = status === 304 && Object.keys(conditions).length > 0;
      if (status === 200 || unchanged) {
        if (!unchanged) rejectEncoding(response, url);
        const validators = {
          from: urlHash(url),
          etag: headers.etag,
          modified: headers["last-modified"],
        };
        return { unchanged, body: response, validators };
      }
      response.destroy();
      if (!REDIRECTS.includes(status) || headers.location === undefined) {
        throw statusError(url, status, headers["retry-after"]);
      }
      if (!URL.canParse(headers.location, url.href))
        throw external(`${url.host} redirects to an invalid URL`);
      url = new URL(headers.location, url);
    }
    throw external(`${address.host} redirects more than ${MAX_REDIRECTS} times`);
  }

  /** Checks everything that needs no DNS lookup. */
  #check(url: URL): void {
    const { protocol, username, password, hostname, host } = url;
    if (protocol !== "https:" && protocol !== "http:") {
      throw external(`${protocol} URLs are not supported. Use https`);
    }
    if (username !== "" || password !== "") {
      throw external(`the URL at ${host} contains credentials. Use a signed URL`);
    }
    // The URL parser normalizes every notation of IPv4. Names are checked in #lookup.
    const literal = hostname.replace(/^\[|\]$/g, "");
    if (isIP(literal) !== 0 && !this.#reach.permits(literal, protocol)) throw notPublic(url);
  }

  async #request(url: URL, headers: Record<string, string>, signal: AbortSignal) {
    try {
      return await open(url, {
        // `agent: false` makes a new connection: the global agent has a pool and may use the environment's
        // proxies.
        agent: false,
        lookup: this.#lookup(url),
        headers: {
          accept: "*/*",
          "accept-encoding": "identity",
          "user-agent": this.#userAgent,
          ...headers,
        },
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof Failure ? error : transientError(url, error);
    }
  }

  #lookup(url: URL): LookupFunction {
    const permits = (address: string) => this.#reach.permits(address, url.protocol);
    return permittedLookup(this.#resolve, permits, () => notPublic(url));
  }
}

/** The message has only the host and the error code: the original may contain private addresses. */
export function transientError({ host }: URL, error: unknown): TransientError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const why = typeof code === "string" ? code : messageOf(error);
  return new TransientError(`${host} could not be read: ${why}`);
}

/**
 * Returns the same message as for a name that does not exist: callers must not learn which names a private
 * network has.
 */
const notPublic = ({ protocol, host }: URL): Failure =>
  protocol === "http:"
    ? external(`${host} cannot be fetched over http. Use an https URL`)
    : external(`${host} has no public IP address`);

const statusError = ({ host }: URL, status: number, retryAfter: string | undefined) => {
  const message = `${host} responded with status ${status}`;
  if (!TRANSIENT_STATUSES.includes(status)) return external(message);
  return new TransientError(message, retryAfterMs(retryAfter));
};

function rejectEncoding(response: IncomingMessage, { host }: URL): void {
  const encoding = response.headers["content-encoding"] ?? "identity";
  if (encoding.trim().toLowerCase() === "identity") return;
  response.destroy();
  throw external(`${host} sends the file compressed (${encoding}), which was not requested`);
}

/**
 * A hash of the URL with its query, which may identify the file. Hashed, since it is stored and may
 * contain a signature. If the signature changes each time, the file is fetched again.
 */
const urlHash = ({ href }: URL): string => createHash("sha256").update(href).digest("hex");

const conditionsOf = ({ etag, modified }: Validators): Record<string, string> => ({
  ...(etag === undefined ? {} : { "if-none-match": etag }),
  ...(modified === undefined ? {} : { "if-modified-since": modified }),
});
