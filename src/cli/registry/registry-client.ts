/** HTTP to the registry of a deployment: one attempt per call, errors with the registry's message. */

import { z } from "zod";
import {
  problemDetail,
  retryAfterMs,
  retryCall,
} from "../../../runner/src/control-plane/json-client.ts";
import { ControlPlaneError, messageOf } from "../../../runner/src/lib/error.ts";
import {
  type BodyRequest,
  type HttpAnswer,
  sendBody,
} from "../../../runner/src/lib/http-client.ts";
import { parseJson } from "../../lib/json.ts";
import { MODEL_HEADER } from "../../protocol/registry.ts";
import type { Access } from "../access.ts";
import { deleteOnce, headersFor, send } from "../service/service.ts";

/** Covers about 45 s of an unreachable registry. */
const RETRIES = { attempts: 8, baseMs: 500, maxMs: 15_000 };

export interface RegistryOptions {
  access: Access;
  /** The id of the model that is pushed to, if it is known: no other is made in its place. */
  model?: string | undefined;
  signal: AbortSignal;
  onRetry: (error: unknown, delayMs: number) => void;
}

export interface RegistryCall {
  method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  body?: Uint8Array;
}

export class RegistryClient {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  /** @param location of a response, which may be relative */
  urlOf(location: string): URL {
    return new URL(location, this.#options.access.url);
  }

  /** One attempt. @throws ControlPlaneError for other statuses than these; the signal's reason */
  async call(url: URL, call: RegistryCall, statuses: number[]): Promise<HttpAnswer> {
    const { method, headers, body } = call;
    const answer = await send(url, {
      method,
      headers: { ...this.#headersFor(url), ...headers },
      body,
      signal: this.#options.signal,
    });
    if (statuses.includes(answer.status)) return answer;
    throw registryError(answer.status, answer.headers["retry-after"], answer.body);
  }

  /** `call`, retried where that may help. */
  retried(url: URL, call: RegistryCall, statuses: number[]): Promise<HttpAnswer> {
    return this.#retried(() => this.call(url, call, statuses));
  }

  async delete(url: URL): Promise<void> {
    await deleteOnce(
      () => this.call(url, { method: "DELETE" }, [202]),
      (send) => this.#retried(send),
    );
  }

  #retried<T>(send: () => Promise<T>): Promise<T> {
    const { signal, onRetry } = this.#options;
    return retryCall(send, { ...RETRIES, signal, onRetry });
  }

  /** Sends a long body as it is read. The response has any status. */
  async send(url: URL, request: Omit<BodyRequest, "signal">): Promise<HttpAnswer> {
    const { signal } = this.#options;
    try {
      const headers = { ...this.#headersFor(url), ...request.headers };
      return await sendBody(url, { ...request, headers, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw new ControlPlaneError(`${url.host}: ${messageOf(error)}`);
    }
  }

  readonly onRetry = (error: unknown, delayMs: number): void =>
    this.#options.onRetry(error, delayMs);

  /** The token is for its own deployment only. */
  #headersFor(url: URL): Record<string, string> {
    const { access, model } = this.#options;
    if (url.origin !== new URL(access.url).origin) return {};
    return { ...headersFor(access), ...(model !== undefined && { [MODEL_HEADER]: model }) };
  }
}

export class RegistryError extends ControlPlaneError {
  /** An error code of OCI, such as DIGEST_INVALID. */
  readonly code: string;

  constructor(message: string, code: string, options: { status: number; retryAfterMs?: number }) {
    super(message, options);
    this.code = code;
  }
}

const errors = z.object({
  errors: z.array(z.object({ code: z.string(), message: z.string().optional() })).min(1),
});

/** @param text the body: OCI's, that of the API, or a page of the zone's edge */
export function registryError(
  status: number,
  retryAfter: string | undefined,
  text: string,
): RegistryError {
  const options = { status, retryAfterMs: retryAfterMs(retryAfter) };
  const [first] = errors.safeParse(parseJson(text)).data?.errors ?? [];
  const { code = "UNKNOWN", message } = first ?? {};
  return new RegistryError(message || reasonFor(status, text), code, options);
}

/** The zone's edge answers 413 in HTML before the Worker sees the request. */
const reasonFor = (status: number, text: string): string =>
  status === 413
    ? "Request too large for this deployment's Cloudflare plan. Ask your operator to raise the limit."
    : problemDetail(status, text);
