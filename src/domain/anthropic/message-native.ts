/**
 * Translates the events of a container with a messages endpoint of its own into the blocks of this message.
 * They are rebuilt because servers leave out what clients need: the signature of a thought, the end of a
 * block.
 */
import { countOf, type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";
import type { Assembler } from "../openai/translation.ts";
import { MessageContent } from "./message-content.ts";

/** The type of the block that a delta belongs to, if the container has not begun it. */
const BLOCKS: Record<string, string> = {
  text_delta: "text",
  citations_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "thinking",
};

export class NativeReader {
  usage: DeltaUsage | undefined;
  /** The container's stop reason, with the sequence that it stopped at. */
  stop: Fields = {};
  readonly #content: MessageContent;

  constructor(content: MessageContent) {
    this.#content = content;
  }

  take(event: Fields): void {
    switch (event.type) {
      case "message_start":
        return this.#whole(fieldsOf(event.message));
      case "message":
        return this.#whole(event);
      case "content_block_start": {
        const block = fieldsOf(event.content_block);
        return this.#begin(block);
      }
      case "content_block_delta":
        return this.#delta(fieldsOf(event.delta));
      case "content_block_stop":
        return this.#content.close();
      case "message_delta":
        this.#count(event);
        this.stop = fieldsOf(event.delta);
        return;
    }
  }

  /** Takes a message, or the beginning of one, which may have its first blocks already. */
  #whole(message: Fields): void {
    this.#count(message);
    if (textOf(message.stop_reason)) this.stop = message;
    for (const block of listOf(message.content).map(fieldsOf)) {
      if (textOf(block.type)) this.#content.whole(block);
    }
  }

  /** Begins a block. Some servers put the first piece into the beginning. */
  #begin(block: Fields): void {
    if (!textOf(block.type)) return;
    this.#content.begin(block);
    const { text, thinking } = block;
    if (textOf(text)) this.#content.add({ type: "text_delta", text: textOf(text) });
    if (textOf(thinking)) this.#content.add({ type: "thinking_delta", thinking: textOf(thinking) });
  }

  #delta(delta: Fields): void {
    if (this.#content.add(delta)) return;
    const type = BLOCKS[textOf(delta.type)];
    // An empty piece begins no block: it would separate pieces that belong together.
    if (type === undefined || delta.text === "" || delta.thinking === "") return;
    this.#content.begin({ type });
    this.#content.add(delta);
  }

  #count({ usage }: Fields): void {
    if (usage) this.usage = usageOfContainer(fieldsOf(usage), this.usage);
  }
}

export class MessageAssembler implements Assembler {
  readonly #content: MessageContent;
  readonly #native: NativeReader;
  #message: Fields | undefined;

  /** @param id of the message, for blocks to which the container gives no id */
  constructor(id: string) {
    this.#content = new MessageContent(id, () => {});
    this.#native = new NativeReader(this.#content);
  }

  take(event: Json): void {
    const { type, message, delta } = fieldsOf(event);
    if (type === "message_start") this.#message = fieldsOf(message);
    if (type === "message_delta") this.#message = { ...this.#message, ...fieldsOf(delta) };
    if (textOf(type)) this.#native.take(fieldsOf(event));
  }

  get value(): object | undefined {
    if (!this.#message) return undefined;
    const { usage } = this.#native;
    const content = this.#content.value;
    return { ...this.#message, type: "message", content, ...(usage && { usage }) };
  }
}

/** The token usage of a message, in the convention's format: tokens read from a cache count apart. */

/** The usage that the convention reports at the end of a stream. */
export interface DeltaUsage extends Fields {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens_details: { thinking_tokens: number } | null;
  server_tool_use: null;
}

const usage = (counts: Partial<DeltaUsage>): DeltaUsage => ({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
  ...counts,
});

export const usageOfMessage = (usage: DeltaUsage): Fields => ({
  ...usage,
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
});

/** Returns the usage of a chat, which counts cached tokens among those of its prompt. */
export function usageOfChat(chat: ChatUsage): DeltaUsage {
  const cached = Math.min(
    countOf(fieldsOf(chat.prompt_tokens_details).cached_tokens),
    chat.prompt_tokens,
  );
  return usage({
    input_tokens: chat.prompt_tokens - cached,
    cache_read_input_tokens: cached,
    output_tokens: chat.completion_tokens ?? 0,
    ...thinkingOf(fieldsOf(chat.completion_tokens_details).reasoning_tokens),
  });
}

/** Returns the usage of a message or event. The numbers rise: a missing one stays as it was. */
function usageOfContainer(reported: Fields, before: DeltaUsage | undefined): DeltaUsage {
  const count = (name: keyof DeltaUsage) => countOf(reported[name] ?? before?.[name]);
  return usage({
    input_tokens: count("input_tokens"),
    output_tokens: count("output_tokens"),
    cache_creation_input_tokens: count("cache_creation_input_tokens"),
    cache_read_input_tokens: count("cache_read_input_tokens"),
    ...thinkingOf(
      fieldsOf(reported.output_tokens_details ?? before?.output_tokens_details).thinking_tokens,
    ),
  });
}

/** Returns the usage from the prediction's metrics, when the container reports none. */
export const usageOfMetrics = (metrics: Metrics | null | undefined): DeltaUsage =>
  usage({
    input_tokens: countOf(metrics?.input_tokens),
    output_tokens: countOf(metrics?.output_tokens),
  });

const thinkingOf = (tokens: unknown): Partial<DeltaUsage> =>
  typeof tokens === "number" ? { output_tokens_details: { thinking_tokens: countOf(tokens) } } : {};
