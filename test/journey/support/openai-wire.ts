/** The wire between a client of a convention and the service, which checks every answer. */
import { expect } from "vitest";
import { z } from "zod";

const object = z.record(z.string(), z.unknown());

export interface Exchange {
  method: string;
  /** The path below the convention's own, decoded, without the query. */
  path: string;
  query: URLSearchParams;
  /** The body of the request; {} if there is none. */
  sent: Record<string, unknown>;
  status: number;
  headers: Headers;
  /** The text that has come so far. */
  text: string;
}

/** Checks of every answer of a convention. */
export interface Checks {
  /** The beginning of the convention's paths. */
  below: RegExp;
  answer: (exchange: Exchange) => void;
  /** Checks a stream; one that was left is checked up to its last whole event. */
  stream: (exchange: Exchange, complete: boolean) => void;
}

export class Wire {
  readonly #checks: Checks;
  readonly exchanges: Exchange[] = [];
  readonly #faults: unknown[] = [];
  readonly #reading = new Set<Promise<void>>();

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  /**
   * The `fetch` for the client. Faults are thrown in `settle`, because the client would try again after an
   * error.
   */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    // The official client fetches an empty `data:` URL to find out what a fetch can do.
    if (request.url.startsWith("data:")) return fetch(input, init);
    const sent = sentIn(init?.body);
    const response = await fetch(input, init);
    const { pathname, searchParams: query } = new URL(request.url);
    const exchange: Exchange = {
      method: request.method,
      path: decodeURIComponent(pathname.replace(this.#checks.below, "")),
      query,
      sent,
      status: response.status,
      headers: response.headers,
      text: "",
    };
    this.exchanges.push(exchange);
    const { status, headers, body } = response;
    if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) {
      exchange.text = await response.text();
      this.#hold(() => this.#checks.answer(exchange));
      return new Response(exchange.text, { status, headers });
    }
    return new Response(ReadableStream.from(this.#recorded(exchange, body)), { status, headers });
  };

  /** The last exchange that was answered. */
  get last(): Exchange {
    const last = this.exchanges.at(-1);
    if (!last) throw new Error("nothing was asked");
    return last;
  }

  /** Waits for the streams that are still read, and fails with the faults of all answers. */
  async settle(): Promise<void> {
    await Promise.all(this.#reading);
    expect(this.#faults.splice(0)).toEqual([]);
  }

  /** Passes a stream on and records it; one that its reader leaves is checked up to there. */
  async *#recorded(exchange: Exchange, body: AsyncIterable<Uint8Array>) {
    const decoder = new TextDecoder();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reading.add(promise);
    let complete = false;
    try {
      for await (const bytes of body) {
        exchange.text += decoder.decode(bytes, { stream: true });
        yield bytes;
      }
      complete = true;
    } finally {
      this.#hold(() => this.#checks.stream(exchange, complete));
      this.#reading.delete(promise);
      resolve();
    }
  }

  #hold(check: () => void): void {
    try {
      check();
    } catch (fault) {
      this.#faults.push(fault);
    }
  }
}

/** Parses the body of a request. A form becomes its fields, with its files as they are. */
function sentIn(body: RequestInit["body"]): Record<string, unknown> {
  if (!body) return {};
  if (body instanceof FormData) return Object.fromEntries(body);
  return object.parse(JSON.parse(String(body)));
}
