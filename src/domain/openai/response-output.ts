/** The output of a response: its items in the order in which they began. */
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import { CallItem } from "./response-call.ts";
import {
  type EmitEvent,
  ForeignItem,
  type ItemContext,
  type ItemStatus,
  type OutputItem,
} from "./response-item.ts";
import { type Fields, fieldsOf, textOf } from "./response-json.ts";
import { TextItem } from "./response-text-item.ts";
import type { ToolNames } from "./tool-names.ts";

export class ResponseOutput {
  readonly items: OutputItem[] = [];
  /** The ids of calls so far: clients fail on an id that occurs twice. */
  readonly #callIds = new Set<string>();
  readonly #hex: string;
  readonly #names: ToolNames;
  readonly #say: EmitEvent;

  /** @param names of the tools in the container */
  constructor(responseId: string, names: ToolNames, say: EmitEvent) {
    this.#hex = responseId.replace(/^resp_/, "");
    this.#names = names;
    this.#say = say;
  }

  get value(): ResponseItem[] {
    return this.items.map((item) => item.value);
  }

  openText(type: "message" | "reasoning"): TextItem {
    return this.#open(new TextItem(this.#contextOf(type === "message" ? "msg" : "rs"), type));
  }

  openCall({ call_id, name }: Fields): CallItem {
    const [plain, names] = [textOf(name), this.#names];
    const prefix = names.called(plain)?.type === "custom" ? "ctc" : "fc";
    return this.#open(new CallItem(this.#contextOf(prefix), this.#callIdOf(call_id), plain, names));
  }

  /** Begins an item of any type. */
  open(item: Fields): OutputItem {
    const type = textOf(item.type);
    if (type === "message" || type === "reasoning") return this.openText(type);
    if (type === "function_call") return this.openCall(item);
    return this.#open(new ForeignItem(this.#contextOf("item"), { ...item, type }));
  }

  /** Emits an item that arrived as a whole. */
  whole(item: Json): void {
    const all = fieldsOf(item);
    const opened = this.open(all);
    opened.complete(all);
    opened.close(itemStatus(all));
  }

  /** Ends all open items. The last one gets the status, because it was being written. */
  close(status: ItemStatus): void {
    const open = this.items.filter((item) => item.isOpen);
    for (const item of open) item.close(item === open.at(-1) ? status : "completed");
  }

  #open<Item extends OutputItem>(item: Item): Item {
    this.items.push(item);
    item.begin();
    return item;
  }

  #contextOf(prefix: string): ItemContext {
    return { id: this.#idOf(prefix), index: this.items.length, emit: this.#say };
  }

  /**
   * Makes an id from the response's id and the item's index, not from the container's id. So it is the same
   * each time the log is read, and tells where to find an item that a later request references.
   */
  #idOf = (prefix: string) => `${prefix}_${this.#hex}_${this.items.length}`;

  /** Returns the id of a call: the container's own, which it recognizes in later turns. */
  #callIdOf(given: Json | undefined): string {
    const own = this.#idOf("call");
    const id = this.#callIds.has(textOf(given)) ? own : textOf(given) || own;
    this.#callIds.add(id);
    return id;
  }
}

/** Returns the final status of an item, as its container reports it. */
export const itemStatus = ({ status }: Fields): ItemStatus =>
  status === "incomplete" ? "incomplete" : "completed";
