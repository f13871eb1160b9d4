/** Assembles a container's stream into the whole message that it would have sent without streaming. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseAssembler } from "../openai/response-assembler.ts";
import { type Fields, fieldsOf, textOf } from "../openai/response-json.ts";
import { MessageContent } from "./message-content.ts";
import { NativeReader } from "./message-native.ts";

export class MessageAssembler implements ResponseAssembler {
  readonly #content: MessageContent;
  readonly #native: NativeReader;
  /** Other fields of the message. */
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
