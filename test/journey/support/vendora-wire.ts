/** The wire between a client of a convention and the service: nothing comes over it unchecked. */
import { expect } from "vitest";
import { z } from "zod";

const object = z.record(z.string(), z.unknown());

export interface Exchange {
  method: string;
  /** Below the convention's own, decoded, without the query. */
  path: string;
  query: URLSearchParams;
  /** What was sent, {} when it was nothing. */
  sent: Record<string, unknown>;
  status: number;
  headers: Headers;
  /** What has come so far. */
  text: string;
}

/** What every answer of a convention must be. */
export interface Checks {
  /** What its paths begin with. */
  below: RegExp;
  answer: (exchange: Exchange) => void;
  /** A stream; one that was left is checked up to its last whole event. */
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

  /** As the client wants it. What it checks comes out in `settle`: a client would try again. */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    // By an empty one the official client finds out what a fetch can.
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

  /** The last one that went so far as to be answered. */
  get last(): Exchange {
    const last = this.exchanges.at(-1);
    if (!last) throw new Error("nothing was asked");
    return last;
  }

  /** Waits for the streams that are still read, and says what was wrong with any answer. */
  async settle(): Promise<void> {
    await Promise.all(this.#reading);
    expect(this.#faults.splice(0)).toEqual([]);
  }

  /** A stream as it passes by; one that its reader leaves is checked as far as it came. */
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

/** Of a form its fields; a file stands for itself. */
function sentIn(body: RequestInit["body"]): Record<string, unknown> {
  if (!body) return {};
  if (body instanceof FormData) return Object.fromEntries(body);
  return object.parse(JSON.parse(String(body)));
}
