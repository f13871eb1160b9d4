/** The events of a prediction as they come, over any number of connections. */
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { z } from "zod";
import { errorFor, refusal, retryDelayMs } from "../../../runner/src/control-plane/json-client.ts";
import { ControlPlaneError, noAnswer } from "../../../runner/src/lib/error.ts";
import { open } from "../../../runner/src/lib/http-client.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { sleep } from "../../lib/timeout.ts";
import { json } from "../../protocol/common.ts";
import { setupProgress } from "../../protocol/event.ts";
import { prediction, predictionError } from "../../protocol/prediction.ts";
import type { Access } from "../access.ts";
import { headersFor } from "./service.ts";

/** The header with which an input that does not match its model's schema costs no run. */
export const VALIDATED = { "validate-input": "true" };

/** Three of the heartbeats that come every 15 s are missing. */
const SILENCE_MS = 50_000;
const DELAYS = { baseMs: 500, maxMs: 15_000 };
/** Covers about two minutes without the service. */
const MAX_FAILURES = 12;

const status = z.object({
  status: z.string(),
  lost: z.int().optional(),
  returned: z.int().optional(),
  prediction: prediction.pick({ id: true, url: true }).optional(),
});

const known = z.discriminatedUnion("event", [
  z.object({ event: z.literal("status"), data: status }),
  z.object({ event: z.literal("setup"), data: setupProgress }),
  z.object({ event: z.literal("output"), data: json }),
  z.object({ event: z.literal("logs"), data: z.string() }),
  z.object({ event: z.literal("error"), data: predictionError }),
  z.object({ event: z.literal("done"), data: prediction }),
]);
export type PredictionEvent = z.infer<typeof known>;

export interface Follow {
  access: Access;
  signal: AbortSignal;
  /** The request whose response is the stream. Later connections use GET with the id of the prediction. */
  create?: { body: object; key: string; validate?: boolean };
  id?: string;
  /** Time without an event after which the stream ends, even if the prediction goes on. */
  idleSeconds?: number | undefined;
  onRetry: (error: unknown, delayMs: number) => void;
}

/** Each event once, and `done` last. @throws ControlPlaneError; the signal's reason */
export async function* follow(options: Follow): AsyncGenerator<PredictionEvent> {
  let { id } = options;
  let after = 0;
  let failures = 0;
  for (;;) {
    try {
      for await (const { number, event } of connection(options, id, after)) {
        after = number;
        failures = 0;
        if (!event) continue;
        if (event.event === "status") id ??= event.data.prediction?.id;
        yield event;
        if (event.event === "done") return;
      }
      if (options.idleSeconds !== undefined) return;
      throw new ControlPlaneError("The stream ended before the prediction finished");
    } catch (error) {
      options.signal.throwIfAborted();
      // A caller that leaves, or throws, is no failure of the stream.
      if (!(error instanceof ControlPlaneError) || !isPassing(error)) throw error;
      if (++failures > MAX_FAILURES) throw error;
      const delayMs = retryDelayMs(error, failures, DELAYS);
      // A connection that ends from time to time is not reported.
      if (failures > 1) options.onRetry(error, delayMs);
      if (!(await sleep(delayMs, options.signal))) options.signal.throwIfAborted();
    }
  }
}

/** A stream that was answered with 200 may break at any time. */
const isPassing = (error: ControlPlaneError) => error.retryable;

interface Numbered {
  number: number;
  /** Returns the event; undefined for an unknown one. */
  event: PredictionEvent | undefined;
}

async function* connection(
  { access, create, signal, idleSeconds }: Follow,
  id: string | undefined,
  after: number,
): AsyncGenerator<Numbered> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("no heartbeat")), SILENCE_MS);
  const until = AbortSignal.any([signal, silence.signal]);
  try {
    const path = `/v1/predictions${id ? `/${id}/stream?after_id=${after}` : ""}`;
    const response = await open(new URL(access.url + path), {
      headers: {
        ...headersFor(access),
        ...(idleSeconds !== undefined && { prefer: `wait=${idleSeconds}` }),
        ...(!id && { "content-type": "application/json", "idempotency-key": create?.key ?? "" }),
        ...(!id && create?.validate && VALIDATED),
      },
      ...(!id && { method: "POST", body: create && exactText(create.body) }),
      signal: until,
    });
    // The stream has ended.
    if (response.statusCode === 204) return;
    if (response.statusCode !== 200) throw await refusal(response);
    const messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    for await (const text of response.setEncoding("utf8")) {
      timer.refresh();
      parser.feed(text);
      for (const message of messages.splice(0)) {
        if (message.event === "problem") throw problemIn(message.data);
        const event = known.safeParse({ event: message.event, data: parseExact(message.data) });
        yield { number: Number(message.id), event: event.data };
      }
    }
  } catch (error) {
    if (error instanceof ControlPlaneError) throw error;
    throw noAnswer(access.url, error);
  } finally {
    clearTimeout(timer);
  }
}

const problemIn = (text: string): ControlPlaneError => {
  const { status } = z.object({ status: z.int() }).parse(JSON.parse(text));
  return errorFor(status, undefined, text);
};
