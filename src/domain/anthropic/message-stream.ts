/** Translates a prediction's log into the stream of a message, and into the message itself. */
import { z } from "zod";
import type { Json } from "../../protocol/common.ts";
import { type Metrics, metrics } from "../../protocol/event.ts";
import { taskStatus } from "../../protocol/prediction.ts";
import { chunksOf } from "../openai/chat-chunks.ts";
import { limitOf } from "../openai/chat-limit.ts";
import { valuesIn } from "../openai/output-values.ts";
import { type Fields, isFields, listOf, textOf } from "../openai/response-json.ts";
import type { LogEntry, Translation } from "../openai/translation.ts";
import { ChunkReader } from "./message-chunks.ts";
import { MessageContent, type StreamEvent } from "./message-content.ts";
import { type Ending, endingOf } from "./message-ending.ts";
import { NativeReader } from "./message-native.ts";
import { type DeltaUsage, usageOfChat, usageOfMessage, usageOfMetrics } from "./message-usage.ts";

export interface MessageHead {
  /** `msg_…` */
  id: string;
  /** The request without its messages. */
  request: Fields;
}

/** The fields of `done` that are needed here. */
const ended = z.object({ status: taskStatus, metrics: metrics.nullish() });

/** Types of the objects that containers of the convention send: a message, or its events. */
const NATIVE = /^(?:message(?:_.*)?|content_block_.*)$/;

export class MessageStream implements Translation {
  readonly #id: string;
  readonly #request: Fields;
  readonly #content: MessageContent;
  readonly #native: NativeReader;
  readonly #chunks: ChunkReader;
  #phase: "new" | "begun" | "ended" = "new";
  #ending: Ending | { stop_reason: null; stop_sequence: null } = {
    stop_reason: null,
    stop_sequence: null,
  };
  #usage: DeltaUsage | undefined;
  #events: StreamEvent[] = [];

  constructor({ id, request }: MessageHead) {
    this.#id = id;
    this.#request = request;
    this.#content = new MessageContent(id, (event) => this.#emit(event));
    this.#native = new NativeReader(this.#content);
    this.#chunks = new ChunkReader(this.#content);
  }

  /** The message so far. */
  get message(): Fields {
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#request.model ?? "",
      content: this.#content.value,
      ...this.#ending,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: usageOfMessage(this.#usage ?? this.#containerUsage ?? usageOfMetrics(null)),
    };
  }

  /**
   * Translates an entry. A failed or canceled prediction ends without a closing event: an error is sent
   * instead.
   * @throws TranslationFailed for an output that is neither a message nor a chat's
   */
  take({ event, data }: LogEntry): StreamEvent[] {
    this.#events = [];
    if (event === "output") this.#put(data);
    if (event === "done") {
      const { status, metrics } = ended.parse(data);
      if (status === "succeeded") this.#end(metrics);
    }
    return this.#events;
  }

  #put(output: Json): void {
    for (const one of valuesIn(output)) {
      const type = isFields(one) ? textOf(one.type) : "";
      // The container's pings are dropped: `MessageContent` sends its own.
      if (type === "ping") continue;
      if (isFields(one) && NATIVE.test(type)) this.#native.take(one);
      else for (const chunk of chunksOf(one)) this.#chunks.take(chunk);
      this.#begin();
    }
  }

  /** Begins the message with the first output: by then the container may have counted the input. */
  #begin(): void {
    if (this.#phase !== "new") return;
    this.#phase = "begun";
    const content: Json[] = [];
    this.#events.push({ type: "message_start", message: { ...this.message, content } });
  }

  #end(metrics: Metrics | null | undefined): void {
    this.#begin();
    this.#chunks.finish();
    const { finishReason, stoppedAt } = this.#chunks;
    this.#ending = endingOf({
      native: this.#native.stop,
      finishReason,
      stoppedAt,
      hasCalls: this.#content.hasCalls,
      stopSequences: listOf(this.#request.stop_sequences).map(textOf),
      limit: limitOf(this.#request),
      metrics,
    });
    this.#usage = this.#containerUsage ?? usageOfMetrics(metrics);
    this.#phase = "ended";
    const delta = { ...this.#ending, stop_details: null, container: null };
    this.#events.push({ type: "message_delta", delta, usage: this.#usage });
    this.#events.push({ type: "message_stop" });
  }

  get #containerUsage(): DeltaUsage | undefined {
    const { usage } = this.#chunks;
    return this.#native.usage ?? (usage ? usageOfChat(usage) : undefined);
  }

  #emit(event: StreamEvent): void {
    this.#begin();
    this.#events.push(event);
  }
}

/**
 * Returns the message of a succeeded prediction.
 * @throws TranslationFailed
 */
export function messageOf(head: MessageHead, outputs: Json[], metrics: Metrics | null): Fields {
  const stream = new MessageStream(head);
  for (const data of outputs) stream.take({ event: "output", data });
  stream.take({ event: "done", data: { status: "succeeded", metrics } });
  return stream.message;
}
