/** The token usage of a message, in the convention's format: tokens read from a cache count apart. */
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";
import { countOf, type Fields, fieldsOf } from "../openai/response-json.ts";

/** The usage that the convention reports at the end of a stream. */
export interface DeltaUsage extends Fields {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
  output_tokens_details: { thinking_tokens: number } | null;
  server_tool_use: null;
}

const usage = (counts: Partial<DeltaUsage>): DeltaUsage => ({
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
  ...counts,
});

/** Returns the usage of a whole message. */
export const usageOfMessage = (usage: DeltaUsage): Fields => ({
  ...usage,
  cache_creation: null,
  inference_geo: null,
  service_tier: null,
  speed: null,
});

/** Returns the usage of a chat, which counts cached tokens among those of its prompt. */
export function usageOfChat(chat: ChatUsage): DeltaUsage {
  const cached = Math.min(
    countOf(fieldsOf(chat.prompt_tokens_details).cached_tokens),
    chat.prompt_tokens,
  );
  return usage({
    input_tokens: chat.prompt_tokens - cached,
    cache_read_input_tokens: cached,
    output_tokens: chat.completion_tokens ?? 0,
    ...thinkingOf(fieldsOf(chat.completion_tokens_details).reasoning_tokens),
  });
}

/**
 * Returns the usage of a container's message or event. The numbers rise: one that is missing stays as it was.
 */
export function usageOfContainer(told: Fields, before: DeltaUsage | undefined): DeltaUsage {
  const count = (name: keyof DeltaUsage) => countOf(told[name] ?? before?.[name]);
  return usage({
    input_tokens: count("input_tokens"),
    output_tokens: count("output_tokens"),
    cache_creation_input_tokens: count("cache_creation_input_tokens"),
    cache_read_input_tokens: count("cache_read_input_tokens"),
    ...thinkingOf(
      fieldsOf(told.output_tokens_details ?? before?.output_tokens_details).thinking_tokens,
    ),
  });
}

/** Returns the usage from the prediction's metrics, when the container reports none. */
export const usageOfMetrics = (metrics: Metrics | null | undefined): DeltaUsage =>
  usage({
    input_tokens: countOf(metrics?.input_tokens),
    output_tokens: countOf(metrics?.output_tokens),
  });

const thinkingOf = (tokens: unknown): Partial<DeltaUsage> =>
  typeof tokens === "number" ? { output_tokens_details: { thinking_tokens: countOf(tokens) } } : {};
