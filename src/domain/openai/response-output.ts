/** The output of a response: its items in the order in which they began. */

import { type Fields, fieldsOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { ChatChunk, ChatUsage } from "../../protocol/openai/chat.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import {
  CallItem,
  type EmitEvent,
  ForeignItem,
  type ItemContext,
  type ItemStatus,
  logprobsOf,
  type OutputItem,
  type PartKind,
  TextItem,
} from "./output-item.ts";
import { type CallPiece, type ToolCall, ToolCallReader } from "./tool-calls.ts";
import type { ToolNames } from "./tools.ts";

export class ResponseOutput {
  readonly items: OutputItem[] = [];
  /** The ids of calls so far: clients fail on an id that occurs twice. */
  readonly #callIds = new Set<string>();
  readonly #hex: string;
  readonly #names: ToolNames;
  readonly #say: EmitEvent;

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

  open(item: Fields): OutputItem {
    const type = textOf(item.type);
    if (type === "message" || type === "reasoning") return this.openText(type);
    if (type === "function_call") return this.openCall(item);
    return this.#open(new ForeignItem(this.#contextOf("item"), { ...item, type }));
  }

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

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  readonly #output: ResponseOutput;
  #text: TextItem | undefined;
  readonly #calls = new ToolCallReader();
  /** The items of the calls. They stay open to the end, because pieces of several may be mixed. */
  readonly #items = new Map<ToolCall, CallItem>();

  constructor(output: ResponseOutput) {
    this.#output = output;
  }

  /** Takes a chunk. A response has one answer: of several choices the first. */
  take({ choices, usage }: ChatChunk): void {
    this.usage = usage ?? this.usage;
    const choice = choices.find(({ index }) => index === 0);
    if (!choice) return;
    const { delta, finish_reason, logprobs } = choice;
    this.finishReason = finish_reason || this.finishReason;
    this.#say("reasoning_text", delta.reasoning_content || delta.reasoning);
    this.#say("output_text", delta.content, () => logprobsOf(fieldsOf(logprobs).content));
    this.#say("refusal", delta.refusal);
    for (const piece of this.#calls.take(delta.tool_calls ?? [])) this.#call(piece);
  }

  #say(kind: PartKind, delta: string | null | undefined, logprobs: () => Json[] = () => []): void {
    if (!delta) return;
    const type = kind === "reasoning_text" ? "reasoning" : "message";
    if (this.#text?.type !== type) {
      this.#text?.close("completed");
      this.#text = this.#output.openText(type);
    }
    this.#text.append(kind, delta, logprobs());
  }

  #call({ call, name = "", arguments: args }: CallPiece): void {
    let item = this.#items.get(call);
    if (!item) {
      this.#text?.close("completed");
      this.#text = undefined;
      item = this.#output.openCall({ call_id: call.id, name });
      this.#items.set(call, item);
    }
    item.complete({ name });
    item.append(args);
  }
}
