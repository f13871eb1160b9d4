/** The output of a response: its items, in the order in which they began. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/vendora/response.ts";
import { CallItem } from "./response-call.ts";
import {
  ForeignItem,
  type ItemStatus,
  type OutputItem,
  type Place,
  type Say,
} from "./response-item.ts";
import { type Fields, fieldsOf, textOf } from "./response-json.ts";
import { TextItem } from "./response-text-item.ts";
import type { ToolNames } from "./tool-names.ts";

export class ResponseOutput {
  readonly items: OutputItem[] = [];
  /** The clients stumble over an id that comes twice. */
  readonly #callIds = new Set<string>();
  readonly #hex: string;
  readonly #names: ToolNames;
  readonly #say: Say;

  /** @param names what the container calls the tools that it was given */
  constructor(responseId: string, names: ToolNames, say: Say) {
    this.#hex = responseId.replace(/^resp_/, "");
    this.#names = names;
    this.#say = say;
  }

  get value(): ResponseItem[] {
    return this.items.map((item) => item.value);
  }

  openText(type: "message" | "reasoning"): TextItem {
    return this.#open(new TextItem(this.#place(type === "message" ? "msg" : "rs"), type));
  }

  openCall({ call_id, name }: Fields): CallItem {
    const [plain, names] = [textOf(name), this.#names];
    const prefix = names.called(plain)?.type === "custom" ? "ctc" : "fc";
    return this.#open(new CallItem(this.#place(prefix), this.#callIdOf(call_id), plain, names));
  }

  /** An item of whatever type: nothing of it but that it begins has been said then. */
  open(item: Fields): OutputItem {
    const type = textOf(item.type);
    if (type === "message" || type === "reasoning") return this.openText(type);
    if (type === "function_call") return this.openCall(item);
    return this.#open(new ForeignItem(this.#place("item"), { ...item, type }));
  }

  /** Says an item that has come in one. */
  whole(item: Json): void {
    const all = fieldsOf(item);
    const opened = this.open(all);
    opened.complete(all);
    opened.close(endOf(all));
  }

  /** Whatever is still open ends: the last of it with the status, for that one was being written. */
  close(status: ItemStatus): void {
    const open = this.items.filter((item) => item.isOpen);
    for (const item of open) item.close(item === open.at(-1) ? status : "completed");
  }

  #open<Item extends OutputItem>(item: Item): Item {
    this.items.push(item);
    item.begin();
    return item;
  }

  #place(prefix: string): Place {
    return { id: this.#idOf(prefix), index: this.items.length, say: this.#say };
  }

  /**
   * Made of the response and the place, whatever the container calls it: the same each time that
   * the log is read, and it tells where an item is that a later request refers to.
   */
  #idOf = (prefix: string) => `${prefix}_${this.#hex}_${this.items.length}`;

  /** The container's own, which it will know again. */
  #callIdOf(given: Json | undefined): string {
    const own = this.#idOf("call");
    const id = this.#callIds.has(textOf(given)) ? own : textOf(given) || own;
    this.#callIds.add(id);
    return id;
  }
}

/** How an item has ended, as its container says. */
export const endOf = ({ status }: Fields): ItemStatus =>
  status === "incomplete" ? "incomplete" : "completed";
