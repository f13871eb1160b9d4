/** Chat completions: their choices, streamed and whole. */

import { isObject, withoutNulls } from "../../lib/json.ts";
import type { ChatChunk, ChatDelta } from "../../protocol/openai/chat.ts";
import { chunksOf } from "./chat-chunks.ts";
import type { ChoiceFormat } from "./choice-stream.ts";
import { type CallPiece, ToolCallReader } from "./tool-calls.ts";

type Choice = ChatChunk["choices"][number];

export const CHATS: ChoiceFormat<Choice, StreamedChoice> = {
  whole: "chat.completion",
  chunk: "chat.completion.chunk",
  chunksOf,
  begin: (index, callPrefix) => new ChatChoice(index, callPrefix),
  wholes: () => new ChoiceAssembler(),
};

const FINISH_REASONS = ["stop", "length", "tool_calls", "content_filter", "function_call"] as const;
type FinishReason = (typeof FINISH_REASONS)[number];

/** The nearest finish reason for others of servers. An aborted choice is incomplete: `length`. */
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

interface Logprobs {
  content: object[] | null;
  refusal: object[] | null;
}

interface StreamedChoice extends Choice {
  finish_reason: FinishReason | null;
  logprobs?: Logprobs | null;
}

class ChatChoice {
  readonly #index: number;
  readonly #callPrefix: string;
  #begun = false;
  #finished = false;
  readonly #calls = new ToolCallReader();

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
  #call({ call, isFirst, name, arguments: args, given }: CallPiece) {
    const { id: _, type, function: called, ...rest } = given;
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

type Call = NonNullable<ChatDelta["tool_calls"]>[number];

const TEXTS = new Set(["content", "refusal", "reasoning_content", "reasoning"]);

class ChoiceAssembler {
  readonly #wholes = new Map<number, Whole>();

  add(piece: StreamedChoice): void {
    const whole = this.#wholes.get(piece.index) ?? new Whole();
    this.#wholes.set(piece.index, whole);
    whole.add(piece);
  }

  get value(): object[] {
    return [...this.#wholes].sort(([a], [b]) => a - b).map(([, whole]) => whole.choice());
  }
}

class Whole {
  #choice: Partial<StreamedChoice> = {};
  #message: ChatDelta = {};
  readonly #calls = new Map<number, Call>();
  #logprobs: Logprobs | null = null;

  add({ delta, finish_reason, logprobs, ...rest }: StreamedChoice): void {
    Object.assign(this.#choice, rest, finish_reason && { finish_reason });
    const { tool_calls, ...fields } = delta;
    for (const [name, value] of Object.entries(fields)) this.#merge(name, value);
    for (const call of tool_calls ?? []) this.#call(call);
    if (logprobs) {
      const content = extended(this.#logprobs?.content, logprobs.content);
      const refusal = extended(this.#logprobs?.refusal, logprobs.refusal);
      this.#logprobs = { ...logprobs, content, refusal };
    }
  }

  choice(): object {
    const { role, content, refusal = null, ...rest } = this.#message;
    const calls = [...this.#calls].sort(([a], [b]) => a - b).map(([, call]) => call);
    const silent = content === "" && (calls.length > 0 || refusal !== null);
    return {
      ...this.#choice,
      message: {
        ...rest,
        role,
        content: silent ? null : content,
        refusal,
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      logprobs: this.#logprobs,
    };
  }

  /** Adds a value of a delta: strings are appended; of other values the last one counts. */
  #merge(name: string, value: unknown) {
    const before = this.#message[name];
    if (name === "function_call" && isObject(before) && isObject(value)) {
      const args = [before, value].map((one) => one.arguments ?? "").join("");
      this.#message[name] = { name: before.name || value.name, arguments: args };
    } else
      this.#message[name] =
        TEXTS.has(name) && typeof before === "string" ? `${before}${value ?? ""}` : value;
  }

  #call({ index: given, function: called, ...piece }: Call) {
    const index = given ?? 0;
    const call = this.#calls.get(index);
    const before = call?.function;
    this.#calls.set(index, {
      ...call,
      ...piece,
      ...(called && {
        function: {
          name: before?.name || (called.name ?? ""),
          arguments: `${before?.arguments ?? ""}${called.arguments ?? ""}`,
        },
      }),
    });
  }
}

/** Appends in place: a copy per token would take quadratic time. */
function extended(list: object[] | null | undefined, more: object[] | null): object[] | null {
  if (!list || !more) return more ?? list ?? null;
  for (const token of more) list.push(token);
  return list;
}
