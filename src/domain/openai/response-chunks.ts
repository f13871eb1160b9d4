/** Translates chat chunks into items of a response. */
import type { Json } from "../../protocol/common.ts";
import type { ChatChunk, ChatUsage } from "../../protocol/openai/chat.ts";
import type { CallItem } from "./response-call.ts";
import { fieldsOf } from "./response-json.ts";
import type { ResponseOutput } from "./response-output.ts";
import { logprobsOf, type PartKind } from "./response-part.ts";
import type { TextItem } from "./response-text-item.ts";
import { type CallPiece, type ToolCall, ToolCallReader } from "./tool-calls.ts";

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  readonly #output: ResponseOutput;
  /** The text item that is being written. */
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
