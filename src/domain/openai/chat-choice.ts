/** One choice of a chat stream, normalized to the convention. */

import { isObject, withoutNulls } from "../../lib/json.ts";
import type { ChatChunk, ChatDelta } from "../../protocol/openai/chat.ts";
import { type CallPiece, ToolCallReader } from "./tool-calls.ts";

type Choice = ChatChunk["choices"][number];
const FINISH_REASONS = ["stop", "length", "tool_calls", "content_filter", "function_call"] as const;
export type FinishReason = (typeof FINISH_REASONS)[number];

/**
 * The convention's nearest finish reason for others of servers. An aborted choice is incomplete, which is
 * `length` to a caller.
 */
const NEAREST = new Map<string, FinishReason>([
  ...FINISH_REASONS.map((reason) => [reason, reason] as const),
  ...["max_tokens", "max_length", "model_length", "abort", "error", "cancelled", "timeout"].map(
    (reason) => [reason, "length"] as const,
  ),
  ["tool_use", "tool_calls"],
  ["safety", "content_filter"],
  ["refusal", "content_filter"],
]);

/** Returns the convention's finish reason for a server's; undefined when nothing is like it. */
export const finishReasonOf = (reason: string) => NEAREST.get(reason.toLowerCase());

/** The fields of a delta that the convention has as null. It leaves out all others that have no value. */
const NULLABLE = ["content", "refusal"];

export interface Logprobs {
  content: object[] | null;
  refusal: object[] | null;
}

export interface StreamedChoice extends Choice {
  finish_reason: FinishReason | null;
  logprobs?: Logprobs | null;
}

export class ChatChoice {
  readonly #index: number;
  readonly #callPrefix: string;
  #begun = false;
  #finished = false;
  readonly #calls = new ToolCallReader();

  /** @param callPrefix the prefix of ids for calls that have none */
  constructor(index: number, callPrefix: string) {
    this.#index = index;
    this.#callPrefix = callPrefix;
  }

  /** Returns the next piece. The role is only in the first one, a finish reason only in one. */
  piece({ delta, finish_reason, logprobs, ...rest }: Choice): StreamedChoice {
    const piece: StreamedChoice = {
      ...withoutNulls(rest),
      delta: this.#normalizeDelta(withoutNulls(delta, NULLABLE)),
      finish_reason: null,
    };
    if (logprobs !== undefined) piece.logprobs = logprobsOf(logprobs);
    if (finish_reason && !this.#finished) piece.finish_reason = this.#finish(finish_reason);
    return piece;
  }

  /** Returns the final piece if the container sent none. @param cut whether the limit was reached */
  end(cut: boolean): StreamedChoice[] {
    const [index, finish_reason] = [this.#index, cut ? "length" : this.#ownReason()];
    return this.#finished ? [] : [this.piece({ index, delta: {}, finish_reason })];
  }

  #finish(reason: string): FinishReason {
    this.#finished = true;
    return finishReasonOf(reason) ?? this.#ownReason();
  }

  #ownReason(): FinishReason {
    return this.#calls.size > 0 ? "tool_calls" : "stop";
  }

  /** Returns the same object for most pieces, which are text or reasoning. */
  #normalizeDelta(delta: ChatDelta): ChatDelta {
    if (this.#begun && !("role" in delta || "tool_calls" in delta || "function_call" in delta)) {
      return delta;
    }
    const { role: _, tool_calls, function_call, ...fields } = delta;
    const calls = this.#calls.take(tool_calls ?? []).map((piece) => this.#call(piece));
    const first = this.#begun ? {} : { role: "assistant", content: calls.length > 0 ? null : "" };
    this.#begun = true;
    return {
      ...first,
      ...fields,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(function_call ? { function_call } : {}),
    };
  }

  /** Returns a piece of a call. Clients concatenate what they get, so id and name are sent once. */
  #call({ call, isFirst, name, arguments: args, told }: CallPiece) {
    const { id: _, type, function: called, ...rest } = told;
    const isFunction = isFirst ? (type ?? "function") === "function" : called != null;
    return {
      ...withoutNulls(rest),
      index: call.number,
      ...(isFirst && {
        id: call.id || `${this.#callPrefix}_${call.number}`,
        type: type ?? "function",
      }),
      ...(isFunction && {
        function: { ...((name || isFirst) && { name: name ?? "" }), arguments: args },
      }),
    };
  }
}

/** Returns the logprobs with all fields that the convention requires. */
function logprobsOf(logprobs: unknown): Logprobs | null {
  if (!isObject(logprobs)) return null;
  const { content, refusal } = logprobs;
  return { ...logprobs, content: tokensOf(content) ?? null, refusal: tokensOf(refusal) ?? null };
}

const tokensOf = (list: unknown): object[] | undefined =>
  recordsIn(list)?.map((token) => ({
    bytes: null,
    ...token,
    top_logprobs: recordsIn(token.top_logprobs)?.map((top) => ({ bytes: null, ...top })) ?? [],
  }));

const recordsIn = (list: unknown) => (Array.isArray(list) ? list.filter(isObject) : undefined);
