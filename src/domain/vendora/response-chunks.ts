/** Translates chat chunks into items of a response. */
import type { Json } from "../../protocol/common.ts";
import type { ChatChunk, ChatDelta, ChatUsage } from "../../protocol/vendora/chat.ts";
import type { CallItem } from "./response-call.ts";
import { fieldsOf } from "./response-json.ts";
import type { ResponseOutput } from "./response-output.ts";
import { logprobsOf, type PartKind } from "./response-part.ts";
import type { TextItem } from "./response-text-item.ts";

type ToolCall = NonNullable<ChatDelta["tool_calls"]>[number];

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  readonly #output: ResponseOutput;
  /** The text item that is being written. */
  #text: TextItem | undefined;
  /** Open calls by index. They stay open to the end, because their pieces may be interleaved. */
  readonly #calls = new Map<number, { id: string; item: CallItem }>();

  constructor(output: ResponseOutput) {
    this.#output = output;
  }

  /** A response has one answer: of several choices the first. */
  take({ choices, usage }: ChatChunk): void {
    this.usage = usage ?? this.usage;
    const choice = choices.find(({ index }) => index === 0);
    if (!choice) return;
    const { delta, finish_reason, logprobs } = choice;
    this.finishReason = finish_reason || this.finishReason;
    this.#say("reasoning_text", delta.reasoning_content || delta.reasoning);
    this.#say("output_text", delta.content, () => logprobsOf(fieldsOf(logprobs).content));
    this.#say("refusal", delta.refusal);
    for (const [position, call] of (delta.tool_calls ?? []).entries()) {
      this.#call(call.index ?? position, call);
    }
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

  /** A new id means another call: some servers give all calls the index 0. */
  #call(index: number, { id, function: called }: ToolCall): void {
    let call = this.#calls.get(index);
    if (!call || (id && call.id && id !== call.id)) {
      this.#text?.close("completed");
      this.#text = undefined;
      const item = this.#output.openCall({ call_id: id ?? null, name: called?.name ?? "" });
      call = { id: id ?? "", item };
      this.#calls.set(index, call);
    }
    call.item.complete({ name: called?.name ?? "" });
    call.item.append(called?.arguments ?? "");
  }
}
