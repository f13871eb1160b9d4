/** Translates a prediction's log into the stream of a message, and into the message itself. */

import type { z } from "zod";
import { type Fields, isFields, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { Cost } from "../../protocol/money.ts";
import type { ChatChunk, ChatUsage } from "../../protocol/openai/chat.ts";
import { finishReasonOf } from "../openai/chat.ts";
import { chunksOf } from "../openai/chat-chunks.ts";
import { type CallPiece, type ToolCall, ToolCallReader } from "../openai/tool-calls.ts";
import {
  costIn,
  ended,
  isAtLimit,
  type LogEntry,
  limitOf,
  type Translation,
  valuesIn,
} from "../openai/translation.ts";
import { MessageContent, type StreamEvent } from "./message-content.ts";
import {
  type DeltaUsage,
  NativeReader,
  usageOfChat,
  usageOfMessage,
  usageOfMetrics,
} from "./message-native.ts";

export interface MessageHead {
  /** `msg_…` */
  id: string;
  /** The request without its messages. */
  request: Fields;
}

/** Types of the objects that containers of the convention send: a message, or its events. */
const NATIVE = /^(?:message(?:_.*)?|content_block_.*)$/;

export class MessageStream implements Translation {
  readonly #id: string;
  readonly #request: Fields;
  readonly #content: MessageContent;
  readonly #native: NativeReader;
  readonly #chunks: ChunkReader;
  #phase: "new" | "begun" | "ended" = "new";
  #ending: Ending | { stop_reason: null; stop_sequence: null } = {
    stop_reason: null,
    stop_sequence: null,
  };
  #usage: DeltaUsage | undefined;
  #events: StreamEvent[] = [];

  constructor({ id, request }: MessageHead) {
    this.#id = id;
    this.#request = request;
    this.#content = new MessageContent(id, (event) => this.#emit(event));
    this.#native = new NativeReader(this.#content);
    this.#chunks = new ChunkReader(this.#content);
  }

  get message(): Fields {
    return {
      id: this.#id,
      type: "message",
      role: "assistant",
      model: this.#request.model ?? "",
      content: this.#content.value,
      ...this.#ending,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: usageOfMessage(this.#usage ?? this.#containerUsage ?? usageOfMetrics(null)),
    };
  }

  /**
   * Translates an entry. A failed or canceled prediction ends without a closing event: an error is sent
   * instead.
   * @throws TranslationFailed for an output that is neither a message nor a chat's
   */
  take({ event, data }: LogEntry): StreamEvent[] {
    this.#events = [];
    if (event === "output") this.#put(data);
    if (event === "done") {
      const { status, ...end } = ended.parse(data);
      if (status === "succeeded") this.#end(end);
    }
    return this.#events;
  }

  #put(output: Json): void {
    for (const one of valuesIn(output)) {
      const type = isFields(one) ? textOf(one.type) : "";
      // The container's pings are dropped: `MessageContent` sends its own.
      if (type === "ping") continue;
      if (isFields(one) && NATIVE.test(type)) this.#native.take(one);
      else for (const chunk of chunksOf(one)) this.#chunks.take(chunk);
      this.#begin();
    }
  }

  /** Begins the message with the first output: by then the container may have counted the input. */
  #begin(): void {
    if (this.#phase !== "new") return;
    this.#phase = "begun";
    const content: Json[] = [];
    this.#events.push({ type: "message_start", message: { ...this.message, content } });
  }

  #end({ metrics, cost }: Omit<z.infer<typeof ended>, "status">): void {
    this.#begin();
    this.#chunks.finish();
    const { finishReason, stoppedAt } = this.#chunks;
    this.#ending = endingOf({
      native: this.#native.stop,
      finishReason,
      stoppedAt,
      hasCalls: this.#content.hasCalls,
      stopSequences: listOf(this.#request.stop_sequences).map(textOf),
      limit: limitOf(this.#request),
      metrics,
    });
    this.#usage = { ...(this.#containerUsage ?? usageOfMetrics(metrics)), ...costIn(cost) };
    this.#phase = "ended";
    const delta = { ...this.#ending, stop_details: null, container: null };
    this.#events.push({ type: "message_delta", delta, usage: this.#usage });
    this.#events.push({ type: "message_stop" });
  }

  get #containerUsage(): DeltaUsage | undefined {
    const { usage } = this.#chunks;
    return this.#native.usage ?? (usage ? usageOfChat(usage) : undefined);
  }

  #emit(event: StreamEvent): void {
    this.#begin();
    this.#events.push(event);
  }
}

/** Returns the message of a succeeded prediction. @throws TranslationFailed */
export function messageOf(
  head: MessageHead,
  outputs: Json[],
  metrics: Metrics | null,
  cost: Cost | null = null,
): Fields {
  const stream = new MessageStream(head);
  for (const data of outputs) stream.take({ event: "output", data });
  stream.take({ event: "done", data: { status: "succeeded", metrics, cost } });
  return stream.message;
}

export const messageIdOf = (predictionId: string) => `msg_${predictionId.replaceAll("-", "")}`;

type Choice = ChatChunk["choices"][number];

class ChunkReader {
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

  /** Writes the next call once the one before is whole, or else at the end: pieces may be mixed. */
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

interface Ending extends Fields {
  stop_reason: string;
  stop_sequence: string | null;
}

interface EndState {
  /** The container's own fields, if it knows the convention. */
  native: Fields;
  finishReason: string | null;
  stoppedAt: string | null;
  hasCalls: boolean;
  stopSequences: readonly string[];
  limit: number | undefined;
  metrics: Metrics | null | undefined;
}

const STOP_REASONS = new Set([
  ...["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"],
  ...["model_context_window_exceeded"],
]);

function endingOf(state: EndState): Ending {
  const { native } = state;
  const reason = textOf(native.stop_reason);
  if (!reason) return endingOfChat(state);
  return {
    stop_reason: STOP_REASONS.has(reason) ? reason : ownReason(state),
    stop_sequence: textOf(native.stop_sequence) || null,
  };
}

function endingOfChat(state: EndState): Ending {
  const { finishReason, stoppedAt, stopSequences, limit, metrics } = state;
  const ending = (stop_reason: string): Ending => ({ stop_reason, stop_sequence: null });
  switch (finishReason ? finishReasonOf(finishReason) : undefined) {
    case "length":
      return ending("max_tokens");
    case "content_filter":
      return ending("refusal");
    default:
      break;
  }
  if (!finishReason && isAtLimit(limit, metrics)) return ending("max_tokens");
  // The calls are checked, since servers report `stop` for a call that was required, too.
  if (stoppedAt !== null && stopSequences.includes(stoppedAt))
    return { stop_reason: "stop_sequence", stop_sequence: stoppedAt };
  return ending(ownReason(state));
}

const ownReason = ({ hasCalls }: EndState) => (hasCalls ? "tool_use" : "end_turn");
