/** Calls of a remote host: only at public addresses, without redirects, and with the key of its version. */
import { retryAfterMs } from "../domain/webhooks/delivery.ts";
import type { WebhookSettings } from "../env.ts";
import { backoffMs } from "../lib/retry.ts";
import { sleep, TimeLimit } from "../lib/timeout.ts";
import type { Remote, RemoteApi } from "../protocol/model.ts";
import { external } from "../run/failure.ts";
import type { ServerAnswer } from "../run/openai/answer.ts";
import { brokenServer } from "../run/openai/error.ts";
import type { Form } from "../run/openai/form.ts";
import { checkResolvedUrl, ResolutionFailed } from "./resolve.ts";

/** Statuses of a host that has not taken the call: too many requests, busy, and Anthropic's overloaded. */
const NOT_TAKEN = [429, 503, 529];
/** The call is then made again when the host says so, if that is soon. */
const MAX_RETRIES = 3;
const MAX_WAIT_MS = 30_000;
const BACKOFF = { baseMs: 500, maxMs: 4_000 };

const ANTHROPIC_VERSION = "2023-06-01";

/** The headers with the key. */
const keyHeaders = (api: RemoteApi, key: string): Record<string, string> =>
  api === "anthropic" ? { "x-api-key": key } : { authorization: `Bearer ${key}` };

export class RemoteHost {
  readonly #remote: Remote;
  readonly #key: string | undefined;
  readonly #settings: WebhookSettings;

  constructor(remote: Remote, key: string | undefined, settings: WebhookSettings) {
    this.#remote = remote;
    this.#key = key;
    this.#settings = settings;
  }

  /** @throws Failure */
  async send(
    method: "GET" | "POST",
    path: string,
    signal: AbortSignal,
    body?: string | Form,
  ): Promise<ServerAnswer> {
    for (let failures = 1; ; failures++) {
      const response = await this.#fetch(method, path, signal, body);
      const { status, headers } = response;
      const retryAfter = headers.get("retry-after");
      const waitMs = retryAfterMs(retryAfter, Date.now()) ?? 0;
      const isSoon = retryAfter !== null && waitMs <= MAX_WAIT_MS;
      if (failures > MAX_RETRIES || !NOT_TAKEN.includes(status) || !isSoon)
        return answerOf(response);
      await response.body?.cancel();
      await sleep(waitMs + backoffMs(failures, BACKOFF), signal);
    }
  }

  async #fetch(
    method: string,
    path: string,
    signal: AbortSignal,
    body: string | Form | undefined,
  ): Promise<Response> {
    const { url: base, api } = this.#remote;
    // Paths are those of a container, whose API begins at its root.
    const appended = api === "openai" ? path.replace(/^\/v1/, "") : path;
    const url = new URL(base.replace(/\/+$/, "") + appended);
    signal.throwIfAborted();
    const limit = new TimeLimit(this.#settings.timeoutMs);
    const both = AbortSignal.any([signal, limit.signal]);
    const refusal = await checkResolvedUrl(url, this.#settings, both)
      .catch((error: unknown) => {
        throw error instanceof ResolutionFailed ? external(error.message) : error;
      })
      .finally(() => limit.callOff());
    if (refusal) throw external(`the URL of the remote host cannot be used: ${refusal}`);
    const response = await fetch(url, {
      method,
      ...(body !== undefined && { body: typeof body === "string" ? body : streamOf(body) }),
      headers: {
        "content-type": typeof body === "object" ? body.type : "application/json",
        accept: "application/json, text/event-stream",
        "user-agent": "Auspex/1.0",
        ...(api === "anthropic" && { "anthropic-version": ANTHROPIC_VERSION }),
        ...(this.#key !== undefined && keyHeaders(api, this.#key)),
      },
      redirect: "manual",
      signal,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw unreachable(error);
    });
    if (response.status < 300 || response.status >= 400) return response;
    await response.body?.cancel();
    throw brokenServer(
      `the remote host answered with a redirect (${response.status}), which is not followed. Set the URL that it redirects to`,
    );
  }
}

function streamOf({ length, content }: Form): ReadableStream {
  const { readable, writable } = new FixedLengthStream(length);
  const writer = writable.getWriter();
  const write = async () => {
    for await (const chunk of content()) await writer.write(chunk);
    await writer.close();
  };
  // A host that answers early reads no more of it, and a file that cannot be read breaks the request off.
  write().catch((error) => writer.abort(error).catch(() => {}));
  return readable;
}

/** workerd has the same message for a connection that is refused, reset or closed. */
const unreachable = (error: unknown) =>
  brokenServer(
    error instanceof Error && error.message === "Network connection lost."
      ? "the remote host refused the connection, or closed it before it answered"
      : "the remote host could not be reached: check its URL and certificate",
  );

const answerOf = ({ status, headers, body }: Response): ServerAnswer => ({
  status,
  type: headers.get("content-type") ?? "",
  body: body ?? new ReadableStream<Uint8Array>({ start: (controller) => controller.close() }),
  close: () => void body?.cancel().catch(() => {}),
});
