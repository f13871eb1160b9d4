/** The items of a response's output, while they are written. */

import { numberIn } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, isFields, listOf, textOf } from "../../lib/fields.ts";
import { withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import { customInputOf } from "./plain-items.ts";
import type { CallerTool, ToolNames } from "./tools.ts";

/** Emits an event. @param fields without its number */
export type EmitEvent = (type: string, fields: Fields) => void;

export type ItemStatus = "in_progress" | "completed" | "incomplete";

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

  get containerType(): string {
    return this.type;
  }

  abstract get value(): ResponseItem;

  /** Emits what is missing, given the complete item. */
  abstract complete(item: Fields): void;

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

/** The kind of a part, which is also the middle of the names of its events. */
export type PartKind = "output_text" | "refusal" | "reasoning_text";

class Part {
  readonly kind: PartKind;
  /** The pieces are joined only when read: the cost of one does not depend on the text's length. */
  readonly #pieces: string[] = [];
  readonly #logprobs: Json[] = [];
  readonly annotations: Json[] = [];

  constructor(kind: PartKind) {
    this.kind = kind;
  }

  add(piece: string, logprobs: Json[]): void {
    this.#pieces.push(piece);
    for (const one of logprobs) this.#logprobs.push(one);
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  get ending(): Fields {
    const text = this.#pieces.join("");
    if (this.kind === "refusal") return { refusal: text };
    return this.kind === "reasoning_text" ? { text } : { text, logprobs: [...this.#logprobs] };
  }

  get value(): Fields {
    const { kind: type, ending } = this;
    return type === "output_text"
      ? { type, ...ending, annotations: [...this.annotations] }
      : { type, ...ending };
  }
}

/** Returns logprobs with every field that the published schemas require. */
export const logprobsOf = (value: unknown): Json[] =>
  listOf(value).map((one) => ({
    ...logprobOf(one),
    top_logprobs: listOf(fieldsOf(one).top_logprobs).map(logprobOf),
  }));

function logprobOf(value: Json): Fields {
  const { token, logprob, bytes } = fieldsOf(value);
  return {
    token: textOf(token),
    logprob: numberIn(logprob) === undefined ? 0 : (logprob ?? 0),
    bytes: listOf(bytes),
  };
}

export class TextItem extends OutputItem {
  readonly type: "message" | "reasoning";
  readonly #parts: Part[] = [];
  #part: Part | undefined;
  #rest: Fields;

  constructor(context: ItemContext, type: "message" | "reasoning") {
    super(context);
    this.type = type;
    this.#rest = type === "message" ? { role: "assistant" } : { summary: [] };
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    return { id, type, status, ...this.#rest, content: this.#parts.map((part) => part.value) };
  }

  append(kind: PartKind, delta: string, logprobs: Json[] = []): void {
    if (delta === "") return;
    if (this.#part?.kind !== kind) this.beginPart(kind);
    this.#part?.add(delta, logprobs);
    this.#emitPart(
      `response.${kind}.delta`,
      kind === "output_text" ? { delta, logprobs } : { delta },
    );
  }

  beginPart(kind: PartKind): void {
    this.endPart();
    this.#part = new Part(kind);
    this.#parts.push(this.#part);
    this.#emitPart("response.content_part.added", { part: this.#part.value });
  }

  endPart(): void {
    const part = this.#part;
    if (!part) return;
    this.#emitPart(`response.${part.kind}.done`, part.ending);
    this.#emitPart("response.content_part.done", { part: part.value });
    this.#part = undefined;
  }

  annotate(given: Json | undefined): void {
    if (!this.#part || !isFields(given)) return;
    const annotation = withoutNulls(given);
    const annotation_index = this.#part.annotations.push(annotation) - 1;
    this.#emitPart("response.output_text.annotation.added", { annotation_index, annotation });
  }

  /** Emits the complete open part, unless it was emitted in pieces. */
  completePart(part: Fields): void {
    if (!this.#part) return;
    if (this.#part.isEmpty) this.append(this.#part.kind, partText(part), logprobsOf(part.logprobs));
    if (this.#part.annotations.length > 0) return;
    for (const one of listOf(part.annotations)) this.annotate(one);
  }

  complete(item: Fields): void {
    const parts = listOf(item.content).map(fieldsOf);
    if (this.#parts.length > 0) this.completePart(fieldsOf(parts[this.#parts.length - 1]));
    else {
      for (const part of parts) {
        this.beginPart(this.kindOf(part.type));
        this.completePart(part);
      }
    }
    this.#rest = { ...this.#rest, ...this.#besides(item) };
  }

  kindOf(type: Json | undefined): PartKind {
    if (this.type === "reasoning") return "reasoning_text";
    return type === "refusal" ? "refusal" : "output_text";
  }

  protected end(): void {
    this.endPart();
  }

  #besides({ phase, summary, encrypted_content }: Fields): Fields {
    if (this.type === "message") {
      return phase === "commentary" || phase === "final_answer" ? { phase } : {};
    }
    const sealed = textOf(encrypted_content);
    return {
      summary: listOf(summary).map((one) => ({
        type: "summary_text",
        text: textOf(fieldsOf(one).text),
      })),
      ...(sealed && { encrypted_content: sealed }),
    };
  }

  #emitPart(type: string, fields: Fields): void {
    this.emitOwn(type, { content_index: this.#parts.length - 1, ...fields });
  }
}

const partText = ({ text, refusal }: Fields) => textOf(text) || textOf(refusal);

const CALLS = { function: "function_call", custom: "custom_tool_call" } as const;

export class CallItem extends OutputItem {
  readonly type: (typeof CALLS)[keyof typeof CALLS];
  readonly #callId: string;
  readonly #names: ToolNames;
  #tool: Pick<CallerTool, "namespace" | "name">;
  readonly #pieces: string[] = [];

  constructor(context: ItemContext, callId: string, name: string, names: ToolNames) {
    super(context);
    const tool = names.called(name);
    this.type = CALLS[tool?.type ?? "function"];
    this.#callId = callId;
    this.#names = names;
    this.#tool = tool ?? { namespace: undefined, name };
  }

  override get containerType(): string {
    return CALLS.function;
  }

  get value(): ResponseItem {
    const { id, type, status } = this;
    const { namespace, name } = this.#tool;
    const tool = { ...(namespace !== undefined && { namespace }), name };
    return { id, type, status, call_id: this.#callId, ...tool, ...this.#given };
  }

  /** Continues the arguments. The input of a custom tool can only be emitted when it is complete. */
  append(delta: string): void {
    if (delta === "") return;
    this.#pieces.push(delta);
    if (this.type === CALLS.function)
      this.emitOwn("response.function_call_arguments.delta", { delta });
  }

  complete({ name, arguments: args }: Fields): void {
    if (this.#tool.name === "") {
      this.#tool = this.#names.called(textOf(name)) ?? { namespace: undefined, name: textOf(name) };
    }
    if (this.#pieces.length === 0) this.append(textOf(args));
  }

  protected end(): void {
    const given = this.#given;
    if (this.type === CALLS.function) {
      this.emitOwn("response.function_call_arguments.done", { name: this.#tool.name, ...given });
      return;
    }
    if (given.input) this.emitOwn("response.custom_tool_call_input.delta", { delta: given.input });
    this.emitOwn("response.custom_tool_call_input.done", given);
  }

  get #given(): Fields & { input?: string } {
    const args = this.#pieces.join("");
    return this.type === CALLS.function ? { arguments: args } : { input: customInputOf(args) };
  }
}
