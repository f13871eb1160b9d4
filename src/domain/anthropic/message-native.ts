/**
 * Translates the events of a container with a messages endpoint of its own into the blocks of this message.
 * They are rebuilt because servers leave out what clients need: the signature of a thought, the end of a
 * block.
 */
import { type Fields, fieldsOf, listOf, textOf } from "../openai/response-json.ts";
import type { MessageContent } from "./message-content.ts";
import { type DeltaUsage, usageOfContainer } from "./message-usage.ts";

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
