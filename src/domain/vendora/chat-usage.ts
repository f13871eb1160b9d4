/** What a chat has used, as the convention counts it. */
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/vendora/chat.ts";

export interface FullChatUsage extends ChatUsage {
  completion_tokens: number;
  total_tokens: number;
}

/** A model's own count with its details, or else the prediction's metrics; 0 for what nobody knows. */
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

/** Servers write null for counts that they do not keep; the convention leaves them out. */
const withoutNulls = (detail: unknown) =>
  typeof detail === "object" && detail !== null && !Array.isArray(detail)
    ? Object.fromEntries(Object.entries(detail).filter(([, count]) => count !== null))
    : detail;
