/** What a model says in chunks of a chat, as items of a response. */
import type { Json } from "../../protocol/common.ts";
import type { ChatChunk, ChatUsage, Said } from "../../protocol/vendora/chat.ts";
import type { CallItem } from "./response-call.ts";
import { fieldsOf } from "./response-json.ts";
import type { ResponseOutput } from "./response-output.ts";
import { logprobsOf, type PartKind } from "./response-part.ts";
import type { TextItem } from "./response-text-item.ts";

type ToolCall = NonNullable<Said["tool_calls"]>[number];

export class ChunkReader {
  usage: ChatUsage | null = null;
  finishReason: string | null = null;
  readonly #output: ResponseOutput;
  /** What is being written, when it is text. */
  #text: TextItem | undefined;
  /** By their index. They stay open to the end, since their pieces may come in turns. */
  readonly #calls = new Map<number, { id: string; item: CallItem }>();

  constructor(output: ResponseOutput) {
    this.#output = output;
  }

  /** A response is one answer: of several choices it is the first. */
  take({ choices, usage }: ChatChunk): void {
    this.usage = usage ?? this.usage;
    const choice = choices.find(({ index }) => index === 0);
    if (!choice) return;
    const { delta, finish_reason, logprobs } = choice;
    this.finishReason = finish_reason || this.finishReason;
    this.#say("reasoning_text", delta.reasoning_content || delta.reasoning);
    this.#say("output_text", delta.content, () => logprobsOf(fieldsOf(logprobs).content));
    this.#say("refusal", delta.refusal);
    for (const [place, call] of (delta.tool_calls ?? []).entries()) {
      this.#call(call.index ?? place, call);
    }
  }

  #say(kind: PartKind, delta: string | null | undefined, logprobs: () => Json[] = () => []): void {
    if (!delta) return;
    const type = kind === "reasoning_text" ? "reasoning" : "message";
    if (this.#text?.type !== type) {
      this.#text?.close("completed");
      this.#text = this.#output.openText(type);
    }
    this.#text.say(kind, delta, logprobs());
  }

  /** An id that is not the one before means another call: some servers number all of them 0. */
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
    call.item.say(called?.arguments ?? "");
  }
}
