/** Translates chat chunks into blocks of a message. */
import type { ChatChunk, ChatUsage } from "../../protocol/openai/chat.ts";
import { textOf } from "../openai/response-json.ts";
import { type CallPiece, type ToolCall, ToolCallReader } from "../openai/tool-calls.ts";
import type { MessageContent } from "./message-content.ts";

type Choice = ChatChunk["choices"][number];

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  /** The stop sequence at which the model stopped, as vLLM and SGLang report it. */
  stoppedAt: string | null = null;
  readonly #content: MessageContent;
  readonly #calls = new ToolCallReader();
  /** The call that is being written, and those that wait for its end, with the pieces of their arguments. */
  #writing: ToolCall | undefined;
  readonly #waiting = new Map<ToolCall, string[]>();
  /** The texts after the first call, as the blocks that they will become. */
  readonly #after: { type: "text" | "thinking"; text: string }[] = [];

  constructor(content: MessageContent) {
    this.#content = content;
  }

  /** Takes a chunk. A message has one answer: of several choices the first. */
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
    for (const piece of this.#calls.take(delta.tool_calls ?? [])) this.#call(piece);
  }

  /** Writes the calls and texts that have waited. */
  finish(): void {
    for (const [call, pieces] of this.#waiting) this.#write(call, pieces);
    // Some servers end their calls with a line break.
    for (const { type, text } of this.#after) if (text.trim()) this.#content.say(type, text);
    this.#content.close();
  }

  /** Adds text. Blocks do not overlap: texts between calls come after the calls. */
  #say(type: "text" | "thinking", text: string | null | undefined): void {
    if (!text) return;
    if (!this.#writing) return this.#content.say(type, text);
    const last = this.#after.at(-1);
    if (last?.type === type) last.text += text;
    else this.#after.push({ type, text });
  }

  #call({ call, isFirst, arguments: piece }: CallPiece): void {
    if (isFirst) this.#waiting.set(call, []);
    if (call === this.#writing) this.#append(piece);
    else this.#waiting.get(call)?.push(piece);
    this.#writeNext();
  }

  /**
   * Writes the next call. Pieces of several calls may be mixed, so a call begins when the one before is
   * whole. If that cannot be seen, it waits for the end of all.
   */
  #writeNext(): void {
    const [next] = this.#waiting;
    if (!next?.[0].name) return;
    if (this.#writing && !this.#writing.isWhole) return;
    this.#write(...next);
  }

  #write(call: ToolCall, pieces: string[]): void {
    this.#waiting.delete(call);
    this.#content.begin({ type: "tool_use", id: call.id, name: call.name });
    this.#writing = call;
    this.#append(pieces.join(""));
  }

  #append(piece: string): void {
    if (piece) this.#content.add({ type: "input_json_delta", partial_json: piece });
  }
}

const stopIn = (choice: Choice): string | undefined =>
  textOf(choice.stop_reason) || textOf(choice.matched_stop) || undefined;
