/**
 * A request with a body of known length, sent as it is read. Not with `fetch`, which would send a
 * stream without a content length; and with HTTP/1.1, since long uploads over HTTP/2 are reset by
 * some edges.
 */
import { type IncomingHttpHeaders, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { sleep } from "../../../src/lib/timeout.ts";

/** A request may take any time as long as bytes are moving. */
export const IDLE_TIMEOUT_MS = 60_000;

export interface BodyRequest {
  method: "PATCH" | "POST" | "PUT";
  headers?: Record<string, string>;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** Bytes of the content. */
  length: number;
  /** How long to wait for a response before the content is sent. */
  waitMs?: number;
  signal: AbortSignal;
  idleMs?: number;
}

export interface BodyResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Makes one attempt. A response before the end of the body is an answer: the rest is not sent. */
export async function sendBody(url: URL, request: BodyRequest): Promise<BodyResponse> {
  const { method, content, length, waitMs = 0, signal, idleMs = IDLE_TIMEOUT_MS } = request;
  const send = url.protocol === "https:" ? requestSecure : requestPlain;
  const headers = {
    "content-type": "application/octet-stream",
    ...request.headers,
    "content-length": length,
  };
  const outgoing = send(url, { method, headers, signal, timeout: idleMs });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no progress for ${idleMs / 1000} s`)));
  const { promise: answered, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.on("response", resolve).on("error", reject);
  try {
    if (waitMs > 0) {
      outgoing.flushHeaders();
      await Promise.race([answered, sleep(waitMs)]);
    }
    const sent = pipeline(content, outgoing).then(() => answered);
    const answer = await Promise.race([answered, sent]);
    const body = await text(answer);
    return { status: answer.statusCode ?? 0, headers: answer.headers, body };
  } finally {
    outgoing.destroy();
  }
}
