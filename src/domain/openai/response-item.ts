/** An item of a response's output, while it is written. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import type { Fields } from "./response-json.ts";

/** Emits an event. @param fields without its number */
export type EmitEvent = (type: string, fields: Fields) => void;

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** An item's id and index in the output, and where its events go. */
export interface ItemContext {
  id: string;
  index: number;
  emit: EmitEvent;
}

export abstract class OutputItem {
  abstract readonly type: string;
  readonly id: string;
  readonly #index: number;
  readonly #emit: EmitEvent;
  protected status: ItemStatus = "in_progress";

  constructor({ id, index, emit }: ItemContext) {
    this.id = id;
    this.#index = index;
    this.#emit = emit;
  }

  /** The item's type in the container. */
  get containerType(): string {
    return this.type;
  }

  /** The item so far. */
  abstract get value(): ResponseItem;

  /** Emits what is missing, given the complete item. */
  abstract complete(item: Fields): void;

  /** Ends the open parts of the item. */
  protected abstract end(): void;

  get isOpen(): boolean {
    return this.status === "in_progress";
  }

  begin(): void {
    this.#emit("response.output_item.added", { output_index: this.#index, item: this.value });
  }

  close(status: ItemStatus): void {
    if (!this.isOpen) return;
    this.end();
    this.status = status;
    this.#emit("response.output_item.done", { output_index: this.#index, item: this.value });
  }

  /** Emits a container's event of this item, with the id and index of this response. */
  emitForeign({ type: _type, sequence_number: _number, ...fields }: Fields, type: string): void {
    this.#emit(type, { ...fields, item_id: this.id, output_index: this.#index });
  }

  protected emitOwn(type: string, fields: { [name: string]: Json }): void {
    this.#emit(type, { item_id: this.id, output_index: this.#index, ...fields });
  }
}

/** An item of another type, such as a web search: it is passed on as the container has it. */
export class ForeignItem extends OutputItem {
  readonly type: string;
  #item: Fields;

  constructor(context: ItemContext, item: Fields & { type: string }) {
    super(context);
    this.type = item.type;
    this.#item = item;
  }

  get value(): ResponseItem {
    return { status: this.status, ...this.#item, type: this.type, id: this.id };
  }

  complete(item: Fields): void {
    this.#item = item;
  }

  protected end(): void {
    // The container's own events end its parts.
  }
}
