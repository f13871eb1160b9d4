/**
 * Events of a container that has a responses endpoint itself, as items of ours. They are read and
 * told anew: servers leave out what clients need (llama.cpp every index), give a text one id in
 * its pieces and another one at the end, and have events that the official clients throw on.
 */
import { CallItem } from "./response-call.ts";
import type { OutputItem } from "./response-item.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";
import { endOf, type ResponseOutput } from "./response-output.ts";
import { logprobsOf, type PartKind } from "./response-part.ts";
import { TextItem } from "./response-text-item.ts";

/** Other names for the convention's events: vLLM's, and those of Open Responses. */
const DIALECT: Record<string, string> = {
  "response.reasoning_part.added": "response.content_part.added",
  "response.reasoning_part.done": "response.content_part.done",
  "response.reasoning.delta": "response.reasoning_text.delta",
  "response.reasoning.done": "response.reasoning_text.done",
};

/** What a piece of text is a piece of. */
const DELTAS: Record<string, PartKind> = {
  "response.output_text.delta": "output_text",
  "response.refusal.delta": "refusal",
  "response.reasoning_text.delta": "reasoning_text",
};

const KNOWN_FORM = /^response(?:\.[a-z_]+)+$/;

export class NativeReader {
  /** The response as it ended, by the container's account. */
  response: Fields | undefined;
  readonly #output: ResponseOutput;
  /** Items by their id, calls also by the call's, and all by their place: as the container has them. */
  readonly #byId = new Map<unknown, OutputItem>();
  readonly #byIndex = new Map<unknown, OutputItem>();

  constructor(output: ResponseOutput) {
    this.#output = output;
  }

  take(event: Fields): void {
    const said = textOf(event.type);
    const type = DIALECT[said] ?? said;
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
        return this.#text(event, "message")?.annotate(event.annotation ?? null);
      case "response.function_call_arguments.delta":
        return this.#call(event)?.say(textOf(event.delta));
      case "response.function_call_arguments.done":
        return this.#call(event)?.complete(event);
      default:
        // What is no name is no event: it would be a line of the stream.
        return KNOWN_FORM.test(type) ? this.#find(event)?.pass(event, type) : undefined;
    }
  }

  /** What the response has besides at its end: all of it, when it came in one. */
  finish(): void {
    const { length } = this.#output.items;
    for (const item of listOf(this.response?.output).slice(length)) this.#output.whole(item);
  }

  #delta(event: Fields, kind: PartKind): void {
    const type = kind === "reasoning_text" ? "reasoning" : "message";
    const item = this.#text(event, type);
    const delta = textOf(event.delta);
    if (item) item.say(item.kindOf(kind), delta, logprobsOf(event.logprobs));
    else if (!this.#known(event)) {
      // Whoever writes such events by hand may leave out that an item begins.
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
    const known =
      this.#known({ ...event, item_id: item.id ?? item.call_id ?? null }) ??
      this.#output.items.find(({ isOpen, said }) => isOpen && said === item.type);
    if (!known) return this.#output.whole(item);
    if (!known.isOpen) return;
    known.complete(item);
    known.close(endOf(item));
  }

  #known(event: Fields): OutputItem | undefined {
    return this.#byId.get(event.item_id) ?? this.#byIndex.get(event.output_index);
  }

  /** Whose event it is: where the container does not say, the last open one of the type. */
  #find(event: Fields, type?: string): OutputItem | undefined {
    const item =
      this.#known(event) ?? this.#output.items.findLast((one) => one.isOpen && one.said === type);
    return item?.isOpen ? item : undefined;
  }

  /** Some have pieces of plain text in what a model thinks. */
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
