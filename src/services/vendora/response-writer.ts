/** Writes the events of a response as text. */

import type { ResponseHead } from "../../domain/vendora/response-resource.ts";
import { ResponseStream } from "../../domain/vendora/response-stream.ts";
import { VendoraProblem } from "../../errors-vendora.ts";
import { logger } from "../../log.ts";
import { prediction } from "../../protocol/prediction.ts";
import { failureOf } from "./failure.ts";
import type { NumberedEntry } from "./log-reader.ts";
import { eventText, type Writer } from "./streams.ts";

export class ResponseWriter implements Writer {
  readonly #translation: ResponseStream;
  readonly #startingAfter: number;
  /** The time limit of callers that wait. */
  readonly #seconds: number;
  #last = -1;

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
    return told
      .map((one) => eventText(JSON.stringify(one), one === last ? entry.id : undefined, one.type))
      .join("");
  }

  /** Not an event of the response, but of this stream alone. The two published schemas of it differ. */
  fail(error: unknown): string {
    if (!(error instanceof VendoraProblem)) {
      logger.error("Stream failed", { error });
    }
    const { message, code, param, type } =
      error instanceof VendoraProblem ? error.error : BROKEN_OFF.error;
    const payload = { code, message, param };
    const event = {
      type: "error",
      sequence_number: this.#last + 1,
      ...payload,
      error: { type, ...payload },
    };
    return eventText(JSON.stringify(event), undefined, event.type);
  }
}

const BROKEN_OFF = new VendoraProblem(500, {
  message: "The stream broke off on our side. GET the response to resume it.",
  code: "server_error",
});
