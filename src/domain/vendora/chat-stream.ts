/** Translates a prediction's log into the stream of a chat completion. */
import { z } from "zod";
import { type Metrics, metrics } from "../../protocol/event.ts";
import { taskStatus } from "../../protocol/prediction.ts";
import type { ChatChunk, ChatUsage } from "../../protocol/vendora/chat.ts";
import { ChatChoice, type StreamedChoice } from "./chat-choice.ts";
import { chunksOf } from "./chat-chunks.ts";
import { isAtLimit } from "./chat-limit.ts";
import { chatUsageOf, type FullChatUsage } from "./chat-usage.ts";
import type { LogEntry, Translation } from "./translation.ts";

export interface ChatHead {
  /** `chatcmpl-…` */
  id: string;
  /** Unix seconds. */
  created: number;
  /** The model's name in the request. */
  model: string;
}

export interface ChatOptions extends ChatHead {
  /** The most tokens that each choice may have, if the request has a limit. */
  limit?: number | undefined;
}

export interface StreamedChunk extends ChatHead {
  object: "chat.completion.chunk";
  choices: StreamedChoice[];
  /** Null before the last one; absent unless requested. */
  usage?: FullChatUsage | null;
  /** Other fields of the container. */
  [field: string]: unknown;
}

/** The fields of `done` that are needed here. */
const ended = z.object({ status: taskStatus, metrics: metrics.nullish() });

export class ChatStream implements Translation {
  readonly #head: ChatHead & { object: StreamedChunk["object"] };
  readonly #before: { usage?: null };
  readonly #limit: number | undefined;
  readonly #choices = new Map<number, ChatChoice>();
  #usage: ChatUsage | undefined;
  /** Other fields of the container's last chunk. */
  #last: object = {};

  /** @param includeUsage the caller's `stream_options.include_usage` */
  constructor({ includeUsage, limit, ...head }: ChatOptions & { includeUsage: boolean }) {
    this.#head = { ...head, object: "chat.completion.chunk" };
    this.#before = includeUsage ? { usage: null } : {};
    this.#limit = limit;
  }

  /**
   * A failed or canceled prediction ends without a closing chunk: an error is sent instead.
   * @throws TranslationFailed for an output that is no chat response
   */
  take({ event, data }: LogEntry): StreamedChunk[] {
    if (event === "output") return chunksOf(data).flatMap((chunk) => this.#passed(chunk));
    if (event !== "done") return [];
    const { status, metrics } = ended.parse(data);
    return status === "succeeded" ? this.#end(metrics) : [];
  }

  /** Usage is sent at the end; a chunk that has nothing else is dropped. */
  #passed({ usage, choices, system_fingerprint, ...rest }: ChatChunk): StreamedChunk[] {
    const fields = system_fingerprint == null ? rest : { ...rest, system_fingerprint };
    if (usage) {
      this.#usage = usage;
      if (choices.length === 0) {
        this.#last = fields;
        return [];
      }
    }
    const pieces = choices.map((choice) => this.#choice(choice.index).piece(choice));
    return [{ ...fields, ...this.#head, choices: pieces, ...this.#before }];
  }

  #end(metrics: Metrics | null | undefined): StreamedChunk[] {
    if (this.#choices.size === 0) this.#choice(0);
    const cut = isAtLimit(this.#limit, metrics, this.#choices.size);
    const closing: StreamedChunk[] = [...this.#choices.values()]
      .flatMap((choice) => choice.end(cut))
      .map((piece) => ({ ...this.#head, choices: [piece], ...this.#before }));
    if (this.#before.usage === null) {
      const usage = chatUsageOf(this.#usage, metrics);
      closing.push({ ...this.#last, ...this.#head, choices: [], usage });
    }
    return closing;
  }

  #choice(index: number): ChatChoice {
    let choice = this.#choices.get(index);
    if (!choice) {
      choice = new ChatChoice(index, `call_${this.#head.id.slice(-16)}_${index}`);
      this.#choices.set(index, choice);
    }
    return choice;
  }
}
