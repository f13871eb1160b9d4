/** An item of a response's output, from its first word to its last. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import type { Fields } from "./response-json.ts";

/** Says an event: its type, and its fields but for its number. */
export type Say = (type: string, fields: Fields) => void;

export type ItemStatus = "in_progress" | "completed" | "incomplete";

/** Where an item is in the output, and whom it tells what happens to it. */
export interface Place {
  id: string;
  index: number;
  say: Say;
}

export abstract class OutputItem {
  abstract readonly type: string;
  readonly id: string;
  readonly #index: number;
  readonly #say: Say;
  protected status: ItemStatus = "in_progress";

  constructor({ id, index, say }: Place) {
    this.id = id;
    this.#index = index;
    this.#say = say;
  }

  /** Its type as its container has it. */
  get said(): string {
    return this.type;
  }

  /** As it stands. */
  abstract get value(): ResponseItem;

  /** Says what has not been said yet of an item, given all of it. */
  abstract complete(item: Fields): void;

  /** Ends what is open within it. */
  protected abstract end(): void;

  get isOpen(): boolean {
    return this.status === "in_progress";
  }

  begin(): void {
    this.#say("response.output_item.added", { output_index: this.#index, item: this.value });
  }

  close(status: ItemStatus): void {
    if (!this.isOpen) return;
    this.end();
    this.status = status;
    this.#say("response.output_item.done", { output_index: this.#index, item: this.value });
  }

  /** Says an event of this item as its container has it, but for where the item is. */
  pass({ type: _type, sequence_number: _number, ...fields }: Fields, type: string): void {
    this.#say(type, { ...fields, item_id: this.id, output_index: this.#index });
  }

  protected tell(type: string, fields: { [name: string]: Json }): void {
    this.#say(type, { item_id: this.id, output_index: this.#index, ...fields });
  }
}

/** An item that only the container understands: a search on the web, say. */
export class ForeignItem extends OutputItem {
  readonly type: string;
  #item: Fields;

  constructor(place: Place, item: Fields & { type: string }) {
    super(place);
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
    // Whatever is open in it, its container tells.
  }
}
