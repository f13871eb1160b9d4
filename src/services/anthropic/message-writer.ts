/** Writes the events of a message as text. */

import { type MessageHead, MessageStream } from "../../domain/anthropic/message-stream.ts";
import { anthropicErrorEvent } from "../../errors/anthropic.ts";
import { exactText } from "../../lib/exact-json.ts";
import { prediction } from "../../protocol/prediction.ts";
import { brokenStream, failureOf } from "../openai/failure.ts";
import type { NumberedEntry } from "../openai/log-reader.ts";
import { eventText, type Writer } from "../openai/streams.ts";

const PING = eventText(exactText({ type: "ping" }), undefined, "ping");

export class MessageWriter implements Writer {
  readonly #translation: MessageStream;
  readonly #seconds: number;

  /** @param timeoutSeconds after which the call is canceled */
  constructor(head: MessageHead, timeoutSeconds: number) {
    this.#translation = new MessageStream(head);
    this.#seconds = timeoutSeconds;
  }

  write(entry: NumberedEntry): string {
    const failure =
      entry.event === "done" && failureOf(prediction.parse(entry.data), this.#seconds);
    if (failure) throw failure;
    const events = this.#translation.take(entry);
    const last = events.at(-1);
    return events
      .map((one) => eventText(exactText(one), one === last ? entry.id : undefined, one.type))
      .join("");
  }

  fail(error: unknown): string {
    return anthropicErrorEvent(brokenStream(error));
  }

  /** Returns a heartbeat, also before the message begins: the official clients skip it anywhere. */
  heartbeat(): string {
    return PING;
  }
}
