/** The token usage of a chat, in the convention's format. */
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";

export interface FullChatUsage extends ChatUsage {
  completion_tokens: number;
  total_tokens: number;
}

/**
 * Returns the container's own usage with its details, or else the prediction's metrics; 0 where unknown. Some
 * servers send null for unknown counts; the convention omits them.
 */
export function chatUsageOf(
  usage: ChatUsage | undefined,
  metrics: Metrics | null | undefined,
): FullChatUsage {
  const {
    prompt_tokens = metrics?.input_tokens ?? 0,
    completion_tokens = metrics?.output_tokens ?? 0,
    total_tokens = prompt_tokens + completion_tokens,
    ...details
  } = usage ?? {};
  const told = Object.entries(withoutNulls(details)).map(([name, detail]) => [
    name,
    isObject(detail) ? withoutNulls(detail) : detail,
  ]);
  return {
    ...Object.fromEntries(told),
    prompt_tokens,
    completion_tokens,
    total_tokens,
  };
}
