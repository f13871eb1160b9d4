/** The wire between a client of a convention and the service: every answer is checked against its description. */
import { expect } from "vitest";
import { z } from "zod";
import {
  checkedError,
  checkedEvents,
  checkedMessage,
  checkedModel,
  checkedModels,
  checkedTokens,
} from "../../published/anthropic.ts";
import {
  expectChatChunk,
  expectChatCompletion,
  expectCompletion,
  expectCompletionChunk,
  expectErrorBody,
  expectModeration,
  expectResponse,
  expectResponseEvent,
  objections,
} from "../../published/validate.ts";

const object = z.record(z.string(), z.unknown());
type Body = z.infer<typeof object>;
type Check = (body: Body, exchange: Exchange) => void;

export interface Exchange {
  method: string;
  /** The path below the convention's own, decoded, without the query. */
  path: string;
  status: number;
  headers: Headers;
  /** The text that has come so far. */
  text: string;
}

interface Convention {
  /** The beginning of the convention's paths. */
  below: RegExp;
  /** Checks of an answer with a success, by method and path. */
  answers: [RegExp, Check][];
  error: (body: unknown) => void;
  /** @param complete false: the reader left, or the stream broke off */
  stream: (events: Body[], exchange: Exchange, complete: boolean) => void;
}

const schema =
  (name: string): Check =>
  (body) =>
    expect(objections("openai", name, body)).toEqual([]);

export const OPENAI: Convention = {
  below: /^\/v1\/vendora/,
  answers: [
    [/^POST \/chat\/completions$/, expectChatCompletion],
    [/^POST \/completions$/, expectCompletion],
    // The official client asks for base64, which the description does not have.
    [/^POST \/(?:embeddings|rerank)$/, ({ model }) => expect(model).toEqual(expect.any(String))],
    [/^POST \/images\/\w+$/, schema("ImagesResponse")],
    [/^POST \/audio\//, ({ text }) => expect(text).toEqual(expect.any(String))],
    [/^POST \/moderations$/, expectModeration],
    [/^POST \/responses\/input_tokens$/, schema("TokenCountsResource")],
    [/^POST \/responses\/compact$/, schema("CompactResource")],
    [/^GET \/responses\/[^/]+\/input_items$/, schema("ResponseItemList")],
    [/^(?:POST|GET) \/responses(?:\/|$)/, expectResponse],
    [/^POST \/conversations$/, schema("ConversationResource")],
    [/^GET \/conversations\/[^/]+\/items$/, schema("ConversationItemList")],
    [/^GET \/models$/, schema("ListModelsResponse")],
    [/^GET \/models\/.+/, schema("Model")],
  ],
  error: expectErrorBody,
  stream(events, { path }) {
    for (const body of events) {
      if (body.error !== undefined && body.object === undefined) expectErrorBody(body);
      else if (path === "/chat/completions") expectChatChunk(body);
      else if (path === "/completions") expectCompletionChunk(body);
      else expectResponseEvent(z.looseObject({ type: z.string() }).parse(body));
    }
  },
};

/** The paths are with the `/v1` that the official client adds, and without it. */
export const ANTHROPIC: Convention = {
  below: /^\/v1\/vendorb(?:\/v1)?/,
  answers: [
    [/^POST \/messages$/, checkedMessage],
    [/^POST \/messages\/count_tokens$/, checkedTokens],
    [/^GET \/models$/, checkedModels],
    [/^GET \/models\/.+/, checkedModel],
  ],
  error: checkedError,
  stream(events, _, complete) {
    const broken = events.at(-1)?.type === "error";
    if (broken) checkedError(events.pop());
    checkedEvents(events, complete && !broken);
  },
};

export class Wire {
  readonly #convention: Convention;
  readonly exchanges: Exchange[] = [];
  readonly #faults: unknown[] = [];
  readonly #reading = new Set<Promise<void>>();

  constructor(convention: Convention) {
    this.#convention = convention;
  }

  /**
   * The `fetch` for the client. Faults are thrown in `settle`, because the client would try again after an
   * error.
   */
  readonly fetch: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    const response = await fetch(input, init);
    // The official client fetches an empty `data:` URL to find out what a fetch can do.
    if (request.url.startsWith("data:")) return response;
    const { status, headers, body } = response;
    const path = decodeURIComponent(new URL(request.url).pathname);
    const exchange: Exchange = {
      method: request.method,
      path: path.replace(this.#convention.below, ""),
      status,
      headers,
      text: "",
    };
    this.exchanges.push(exchange);
    const [type] = headers.get("content-type")?.split(";") ?? [];
    if (body && type === "text/event-stream")
      return new Response(ReadableStream.from(this.#recorded(exchange, body)), { status, headers });
    if (type !== "application/json") return response;
    exchange.text = await response.text();
    this.#hold(() => this.#checkAnswer(exchange));
    return new Response(exchange.text, { status, headers });
  };

  /** The last exchange that was answered. */
  get last(): Exchange {
    return this.exchanges.at(-1) ?? expect.fail("nothing was asked");
  }

  /** Waits for the streams that are still read, and fails with the faults of all answers. */
  async settle(): Promise<void> {
    await Promise.all(this.#reading);
    expect(this.#faults.splice(0)).toEqual([]);
  }

  #checkAnswer(exchange: Exchange): void {
    const { method, path, status, headers, text } = exchange;
    expect(headers.get("x-request-id")).toMatch(/./);
    const body = object.parse(JSON.parse(text));
    if (status >= 400) {
      this.#convention.error(body);
      // A failure that would repeat must not be tried again: these clients try three times.
      if (status >= 500 && status !== 503) expect(headers.get("x-should-retry")).toBe("false");
      return;
    }
    const call = `${method} ${path}`;
    const [, check] = this.#convention.answers.find(([one]) => one.test(call)) ?? [];
    if (!check) throw new Error(`nobody knows what ${call} answers`);
    check(body, exchange);
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
      this.#hold(() => {
        // The last event of a stream that was left may be incomplete.
        const whole = exchange.text.split("\n\n").slice(0, -1);
        const events = whole
          .flatMap((event) => /^data: (.*)$/m.exec(event)?.[1] ?? [])
          .filter((data) => data !== "[DONE]")
          .map((data) => object.parse(JSON.parse(data)));
        this.#convention.stream(events, exchange, complete);
      });
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
