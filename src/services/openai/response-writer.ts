/** Writes the events of a response as text. */

import type { ResponseHead } from "../../domain/openai/response-resource.ts";
import { ResponseStream } from "../../domain/openai/response-stream.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import { HEARTBEAT } from "../../lib/sse.ts";
import { logger } from "../../log.ts";
import { prediction } from "../../protocol/prediction.ts";
import { failureOf } from "./failure.ts";
import type { NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer } from "./streams.ts";

/**
 * When an event is repeated. Agents give up on a stream without events (codex after 300 s), and comments do
 * not count. Heartbeats come every 15 s: the first one after this time is the nearest to 30 s.
 */
const REPEAT_AFTER_MS = 22_500;
/** The size up to which a response is repeated; for a larger one only a comment is sent. */
const MAX_REPEATED_CHARS = 256 * 1024;

export class ResponseWriter implements Writer {
  readonly #translation: ResponseStream;
  readonly #startingAfter: number;
  /** The time limit of callers that wait. */
  readonly #seconds: number;
  #last = -1;
  /** When the last event was sent, or repeated. */
  #sentAt = Date.now();
  #isTooLarge = false;

  /** @param startingAfter events up to this number are skipped */
  constructor(head: ResponseHead, timeoutSeconds: number, startingAfter = -1) {
    this.#translation = new ResponseStream(head);
    this.#startingAfter = startingAfter;
    this.#seconds = head.request.background === true ? Number.POSITIVE_INFINITY : timeoutSeconds;
  }

  write(entry: NumberedEntry): string {
    const failure =
      entry.event === "done" ? failureOf(prediction.parse(entry.data), this.#seconds) : undefined;
    if (failure?.status === 504) throw failure;
    const events = this.#translation.take(entry, Number(entry.id));
    this.#last = events.at(-1)?.sequence_number ?? this.#last;
    const told = events.filter(({ sequence_number: n }) => n > this.#startingAfter);
    const last = told.at(-1);
    if (last) this.#sentAt = Date.now();
    return told
      .map((one) => eventText(exactText(one), one === last ? entry.id : undefined, one.type))
      .join("");
  }

  /**
   * Returns a heartbeat. It is not an event of the log: it has no id, and the number of the last event that
   * the reader has.
   */
  heartbeat(): string {
    const isDue = Date.now() - this.#sentAt >= REPEAT_AFTER_MS;
    if (this.#last === -1 || this.#isTooLarge || !isDue) return HEARTBEAT;
    const response = this.#translation.resource();
    const type = response.status === "queued" ? "response.queued" : "response.in_progress";
    const sequence_number = Math.max(this.#last, this.#startingAfter);
    const text = exactText({ type, sequence_number, response });
    this.#isTooLarge = text.length > MAX_REPEATED_CHARS;
    if (this.#isTooLarge) return HEARTBEAT;
    this.#sentAt = Date.now();
    return eventText(text, undefined, type);
  }

  /**
   * Returns the error event. It is not an event of the response, but of this stream alone. The two published
   * schemas of it differ.
   */
  fail(error: unknown): string {
    if (!(error instanceof OpenAiProblem)) {
      logger.error("Stream failed", { error });
    }
    const { message, code, param, type } =
      error instanceof OpenAiProblem ? error.error : BROKEN_OFF.error;
    const payload = { code, message, param };
    const event = {
      type: "error",
      sequence_number: this.#last + 1,
      ...payload,
      error: { type, ...payload },
    };
    return eventText(exactText(event), undefined, event.type);
  }
}

const BROKEN_OFF = new OpenAiProblem(500, {
  message: "The stream broke off on our side. GET the response to resume it.",
  code: "server_error",
});
