/** A minimal API client for `npm start`, the tests and the bench. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import { parseJson } from "../lib/json.ts";
import { problem, validationError } from "../protocol/common.ts";

export class CallFailed extends Error {
  readonly status: number;

  constructor(method: string, path: string, status: number, body: string) {
    super(`${method} ${path} answered ${status}: ${detailOf(body) ?? body}`);
    this.status = status;
  }
}

export interface Call {
  /** Bytes are sent as they are, anything else as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export class Client {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  fetch(method: string, path: string, { body, headers, signal }: Call = {}): Promise<Response> {
    return fetch(`${this.#url}/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && !isBytes(body) && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: isBytes(body) ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  /** The body of a successful response. @throws CallFailed */
  async call<Body>(
    schema: { parse(value: unknown): Body },
    method: string,
    path: string,
    call?: Call,
  ): Promise<Body> {
    const response = await this.fetch(method, path, call);
    const text = await response.text();
    if (!response.ok) throw new CallFailed(method, path, response.status, text);
    return schema.parse(JSON.parse(text));
  }

  /** The events of a stream as they arrive, until it ends. @throws CallFailed */
  async *events(
    method: string,
    path: string,
    call?: Call,
  ): AsyncGenerator<{ id: number; event: string; data: unknown }> {
    const response = await this.fetch(method, path, call);
    if (!response.ok) throw new CallFailed(method, path, response.status, await response.text());
    const events = response.body
      ?.pipeThrough(new TextDecoderStream())
      .pipeThrough(new EventSourceParserStream());
    for await (const { id, event, data } of events ?? []) {
      yield { id: Number(id), event: event ?? "", data: JSON.parse(data) };
    }
  }
}

const isBytes = (body: unknown): body is Uint8Array<ArrayBuffer> => body instanceof Uint8Array;

/** Returns the detail of an error's body; undefined if the body is not Auspex's. */
export function detailOf(text: string): string | undefined {
  const body = parseJson(text);
  const issues = validationError.safeParse(body).data?.detail;
  return issues
    ? issues.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ")
    : problem.safeParse(body).data?.detail;
}

/** The message of `fetch` itself is only that it failed. */
export function messageOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  if (!(error instanceof TypeError && cause instanceof Error)) return message;
  return `The deployment was not reached: ${cause.message}. Check its address and your network.`;
}
