/**
 * Translates the events of a container with a responses endpoint of its own into the items of this response.
 * They are rebuilt because servers omit what clients need (llama.cpp omits every index), give a text one id
 * in its pieces and another at its end, and send events on which the official clients throw.
 */

import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { CallItem, logprobsOf, type OutputItem, type PartKind, TextItem } from "./output-item.ts";
import { itemStatus, type ResponseOutput } from "./response-output.ts";
import type { Assembler } from "./translation.ts";

/** Other names of the convention's events, as vLLM and Open Responses have them. */
const EVENT_ALIASES: Record<string, string> = {
  "response.reasoning_part.added": "response.content_part.added",
  "response.reasoning_part.done": "response.content_part.done",
  "response.reasoning.delta": "response.reasoning_text.delta",
  "response.reasoning.done": "response.reasoning_text.done",
};

const DELTAS: Record<string, PartKind> = {
  "response.output_text.delta": "output_text",
  "response.refusal.delta": "refusal",
  "response.reasoning_text.delta": "reasoning_text",
};

const EVENT_NAME = /^response(?:\.[a-z_]+)+$/;

export class NativeReader {
  response: Fields | undefined;
  readonly #output: ResponseOutput;
  /** Items by the container's ids (calls also by call id), and by its index. */
  readonly #byId = new Map<unknown, OutputItem>();
  readonly #byIndex = new Map<unknown, OutputItem>();

  constructor(output: ResponseOutput) {
    this.#output = output;
  }

  take(event: Fields): void {
    const name = textOf(event.type);
    const type = EVENT_ALIASES[name] ?? name;
    const kind = DELTAS[type];
    if (kind) return this.#delta(event, kind);
    switch (type) {
      case "response.created":
      case "response.queued":
      case "response.in_progress":
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
      case "response.cancelled":
        this.response = fieldsOf(event.response);
        return;
      case "response.output_item.added":
        return this.#open(event, fieldsOf(event.item));
      case "response.output_item.done":
        return this.#close(event, fieldsOf(event.item));
      case "response.content_part.added": {
        const part = fieldsOf(event.part).type === "reasoning_text" ? "reasoning" : "message";
        const item = this.#text(event, part);
        return item?.beginPart(item.kindOf(fieldsOf(event.part).type));
      }
      case "response.output_text.done":
      case "response.refusal.done":
      case "response.reasoning_text.done":
        return this.#text(event)?.completePart(event);
      case "response.content_part.done": {
        const item = this.#text(event);
        item?.completePart(fieldsOf(event.part));
        return item?.endPart();
      }
      case "response.output_text.annotation.added":
        return this.#text(event, "message")?.annotate(event.annotation);
      case "response.function_call_arguments.delta":
        return this.#call(event)?.append(textOf(event.delta));
      case "response.function_call_arguments.done":
        return this.#call(event)?.complete(event);
      default:
        // An invalid name would break the stream's framing.
        return EVENT_NAME.test(type) ? this.#find(event)?.emitForeign(event, type) : undefined;
    }
  }

  /** Emits the parts of the final response that no event had: all of it if there were no events. */
  finish(): void {
    const { length } = this.#output.items;
    for (const item of listOf(this.response?.output).slice(length)) this.#output.whole(item);
  }

  #delta(event: Fields, kind: PartKind): void {
    const type = kind === "reasoning_text" ? "reasoning" : "message";
    const item = this.#text(event, type);
    const delta = textOf(event.delta);
    if (item) item.append(item.kindOf(kind), delta, logprobsOf(event.logprobs));
    else if (!this.#lookUp(event)) {
      // Some servers omit the event that begins an item.
      this.#open(event, { type, id: event.item_id ?? null });
      this.#delta(event, kind);
    }
  }

  #open(event: Fields, item: Fields): void {
    const opened = this.#output.open(item);
    for (const id of [item.id, item.call_id]) if (id) this.#byId.set(id, opened);
    if (event.output_index !== undefined) this.#byIndex.set(event.output_index, opened);
  }

  #close(event: Fields, item: Fields): void {
    const found =
      this.#lookUp({ ...event, item_id: item.id ?? item.call_id ?? null }) ??
      this.#output.items.find(({ isOpen, containerType }) => isOpen && containerType === item.type);
    if (!found) return this.#output.whole(item);
    if (!found.isOpen) return;
    found.complete(item);
    found.close(itemStatus(item));
  }

  #lookUp(event: Fields): OutputItem | undefined {
    return this.#byId.get(event.item_id) ?? this.#byIndex.get(event.output_index);
  }

  /** Returns the item of an event; without an id or index, the last open one of its type. */
  #find(event: Fields, type?: string): OutputItem | undefined {
    const item =
      this.#lookUp(event) ??
      this.#output.items.findLast((one) => one.isOpen && one.containerType === type);
    return item?.isOpen ? item : undefined;
  }

  /** Returns the item of a text event. Some servers send the reasoning as plain text parts. */
  #text(event: Fields, type?: "message" | "reasoning"): TextItem | undefined {
    const item = this.#find(event, type);
    if (!(item instanceof TextItem)) return undefined;
    return item.type === "reasoning" || type !== "reasoning" ? item : undefined;
  }

  #call(event: Fields): CallItem | undefined {
    const item = this.#find(event, "function_call");
    return item instanceof CallItem ? item : undefined;
  }
}

/** Takes the whole response from the last event; if a server omits the items there, from earlier events. */
export class NativeResponseAssembler implements Assembler {
  #response: Fields | undefined;
  readonly #items: Json[] = [];

  take(event: Json): void {
    const { type, response, item } = fieldsOf(event);
    if (type === "response.output_item.done" && item !== undefined) this.#items.push(item);
    if (response !== undefined) this.#response = fieldsOf(response);
  }

  get value(): object | undefined {
    if (!this.#response) return undefined;
    const output = listOf(this.#response.output);
    return { ...this.#response, output: output.length > 0 ? output : this.#items };
  }
}
