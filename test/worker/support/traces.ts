/** A deployment with traces: its requests, the messages of its predictions, and its collector. */
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import type { TraceMessage } from "../../../src/protocol/traces.ts";
import worker from "../../../src/worker.ts";
import { type OtlpSpan, otlpRequest } from "../../domain/predictions/otlp.ts";
import { Client, ORIGIN } from "./client.ts";
import { eventually } from "./eventually.ts";
import { addressOf, freshPath, received } from "./receiver.ts";

/** Returns the bindings of a deployment whose collector is at a path of the receiver. */
export function tracing(changes: Record<string, string> = {}) {
  const path = freshPath();
  const bindings: Bindings = Object.assign({}, env, {
    OTLP_ENDPOINT: addressOf(path),
    OTLP_HEADERS: "authorization=Bearer%20collector,x-team=ml",
    ...changes,
  });
  return { bindings, path: `${path}/v1/traces` };
}

/** A client of a deployment with other bindings. */
export class ClientOf extends Client {
  readonly #bindings: Bindings;

  constructor({ token }: Client, bindings: Bindings) {
    super(token);
    this.#bindings = bindings;
  }

  override fetch(
    path: string,
    init: RequestInit & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const headers = {
      ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
      ...init.headers,
    };
    const request = new Request(new URL(path, ORIGIN), { ...init, headers });
    return Promise.resolve(worker.fetch(request, this.#bindings, createExecutionContext()));
  }
}

const SENT = { metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } };

/** Holds back the messages of predictions until mocks are restored. */
export function holdTraces() {
  const sending = vi.spyOn(env.TRACES, "send").mockResolvedValue(SENT);
  const messages = () => sending.mock.calls.map(([message]) => message);
  return {
    sending,
    messages,
    /** Returns the messages once there are as many. */
    async sent(count = 1): Promise<TraceMessage[]> {
      await eventually(() => expect(messages()).toHaveLength(count));
      return messages();
    },
  };
}

/** Delivers messages in one batch. @param attempts how often they have been delivered, this time included */
export async function deliverTraces(bindings: Bindings, messages: unknown[], attempts = 1) {
  const batch = createMessageBatch(
    "auspex-traces",
    messages.map((body, n) => ({ id: `m${n}`, timestamp: new Date(), attempts, body })),
  );
  const retries = batch.messages.map((message) => vi.spyOn(message, "retry"));
  await worker.queue(batch, bindings);
  const delays = retries.flatMap(({ mock }) =>
    mock.calls.map(([options]) => options?.delaySeconds),
  );
  return { ...(await getQueueResult(batch, createExecutionContext())), delays };
}

/** Returns the spans of each request that the collector has received: each is exactly what OTLP allows. */
export async function collected(path: string, count = 1): Promise<OtlpSpan[][]> {
  const requests = await received(path, count);
  return requests.map(({ body }) =>
    otlpRequest
      .parse(JSON.parse(body))
      .resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
  );
}
