/** The reason why a message ends, in the convention's words. */
import type { Metrics } from "../../protocol/event.ts";
import { finishReasonOf } from "../openai/chat-choice.ts";
import { isAtLimit } from "../openai/chat-limit.ts";
import { type Fields, textOf } from "../openai/response-json.ts";

export interface Ending extends Fields {
  stop_reason: string;
  stop_sequence: string | null;
}

/** The facts about a message that are known at its end. */
export interface EndState {
  /** The container's own fields, if it knows the convention. */
  native: Fields;
  /** The finish reason of a chat. */
  finishReason: string | null;
  stoppedAt: string | null;
  hasCalls: boolean;
  /** The stop sequences of the request. */
  stopSequences: readonly string[];
  limit: number | undefined;
  metrics: Metrics | null | undefined;
}

const STOP_REASONS = new Set([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
]);

export function endingOf(state: EndState): Ending {
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
