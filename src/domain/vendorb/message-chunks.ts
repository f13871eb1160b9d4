/** Translates chat chunks into blocks of a message. */
import type { ChatChunk, ChatDelta, ChatUsage } from "../../protocol/vendora/chat.ts";
import { textOf } from "../vendora/response-json.ts";
import type { MessageContent } from "./message-content.ts";
import { ObjectScan } from "./object-scan.ts";

type Choice = ChatChunk["choices"][number];
type ToolCall = NonNullable<ChatDelta["tool_calls"]>[number];

/** A call, as far as it has come. */
class Call {
  readonly id: string;
  name = "";
  /** Of its arguments, while it has to wait for another one. */
  readonly pieces: string[] = [];
  readonly arguments = new ObjectScan();

  constructor(id: string) {
    this.id = id;
  }

  /**
   * Whether a piece with the same index is of another call: some servers give all calls the index 0,
   * others a new id to each piece of one.
   */
  isOther({ id, function: called }: ToolCall): boolean {
    if (!id || !this.id || id === this.id || !called?.name) return false;
    return this.arguments.isWhole || called.name !== this.name;
  }
}

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  /** What it stopped at, as vLLM and SGLang tell it. */
  stoppedAt: string | null = null;
  readonly #content: MessageContent;
  /** Calls by index, the last one of each. */
  readonly #byIndex = new Map<number, Call>();
  /** The call that is written, and those that wait for its end. */
  #writing: Call | undefined;
  readonly #waiting: Call[] = [];
  /** What is said after the first call, as the blocks that it will be. */
  readonly #after: { type: "text" | "thinking"; text: string }[] = [];

  constructor(content: MessageContent) {
    this.#content = content;
  }

  /** A message has one answer: of several choices the first. */
  take({ choices, usage }: ChatChunk): void {
    this.usage = usage ?? this.usage;
    const choice = choices.find(({ index }) => index === 0);
    if (!choice) return;
    const { delta, finish_reason } = choice;
    this.finishReason = finish_reason || this.finishReason;
    this.stoppedAt = stopIn(choice) ?? this.stoppedAt;
    this.#say("thinking", delta.reasoning_content || delta.reasoning);
    this.#say("text", delta.content);
    this.#say("text", delta.refusal);
    if (!delta.tool_calls) return;
    for (const [position, call] of delta.tool_calls.entries()) {
      this.#call(call.index ?? position, call);
    }
  }

  /** Writes what has waited. */
  finish(): void {
    for (const call of this.#waiting.splice(0)) this.#write(call);
    // Some servers end their calls with a line break.
    for (const { type, text } of this.#after) if (text.trim()) this.#content.say(type, text);
    this.#content.close();
  }

  /** Blocks do not overlap: what is said beside calls comes after them. */
  #say(type: "text" | "thinking", text: string | null | undefined): void {
    if (!text) return;
    if (!this.#writing) return this.#content.say(type, text);
    const last = this.#after.at(-1);
    if (last?.type === type) last.text += text;
    else this.#after.push({ type, text });
  }

  #call(index: number, told: ToolCall): void {
    let call = this.#byIndex.get(index);
    if (!call || call.isOther(told)) {
      call = new Call(told.id ?? "");
      this.#byIndex.set(index, call);
      this.#waiting.push(call);
    }
    call.name ||= told.function?.name ?? "";
    const piece = told.function?.arguments ?? "";
    call.arguments.take(piece);
    if (call === this.#writing) this.#append(piece);
    else call.pieces.push(piece);
    this.#writeNext();
  }

  /**
   * Pieces of several calls may be mixed, so the next one begins when the one before is whole. If that
   * cannot be seen, it waits for the end of all.
   */
  #writeNext(): void {
    const [next] = this.#waiting;
    if (!next?.name) return;
    if (this.#writing && !this.#writing.arguments.isWhole) return;
    this.#waiting.shift();
    this.#write(next);
  }

  #write(call: Call): void {
    this.#content.begin({ type: "tool_use", id: call.id, name: call.name });
    this.#writing = call;
    this.#append(call.pieces.splice(0).join(""));
  }

  #append(piece: string): void {
    if (piece) this.#content.add({ type: "input_json_delta", partial_json: piece });
  }
}

const stopIn = (choice: Choice): string | undefined =>
  textOf(choice.stop_reason) || textOf(choice.matched_stop) || undefined;
