/** The token usage of a chat, in the convention's format. */
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/vendora/chat.ts";

export interface FullChatUsage extends ChatUsage {
  completion_tokens: number;
  total_tokens: number;
}

/** The container's own usage with its details, or else the prediction's metrics; 0 where unknown. */
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
  const told = Object.entries(details).filter(([, detail]) => detail !== null);
  return {
    ...Object.fromEntries(told.map(([name, detail]) => [name, withoutNulls(detail)])),
    prompt_tokens,
    completion_tokens,
    total_tokens,
  };
}

/** Some servers send null for unknown counts; the convention omits them. */
const withoutNulls = (detail: unknown) =>
  typeof detail === "object" && detail !== null && !Array.isArray(detail)
    ? Object.fromEntries(Object.entries(detail).filter(([, count]) => count !== null))
    : detail;
