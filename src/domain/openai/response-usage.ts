/** The token usage of a response, in the convention's format. */
import type { Metrics } from "../../protocol/event.ts";
import type { ChatUsage } from "../../protocol/openai/chat.ts";
import { countOf, type Fields, fieldsOf, isFields } from "./response-json.ts";

/** Returns the container's own usage: of its response, or else of its chat. */
export const usageOf = (response: Fields | undefined, chat: ChatUsage | null): Fields | null =>
  isFields(response?.usage) ? usageOfResponse(response.usage) : chat && usageOfChat(chat);

const usageOfResponse = (usage: Fields): Fields =>
  counted(
    usage.input_tokens,
    usage.output_tokens,
    usage.input_tokens_details,
    usage.output_tokens_details,
  );

const usageOfChat = (usage: ChatUsage): Fields =>
  counted(
    usage.prompt_tokens,
    usage.completion_tokens,
    usage.prompt_tokens_details,
    usage.completion_tokens_details,
  );

/** Returns the usage from the prediction's metrics, when the container reports none. */
export const usageOfMetrics = (metrics: Metrics | null): Fields =>
  counted(metrics?.input_tokens, metrics?.output_tokens, null, null);

function counted(input: unknown, output: unknown, inDetail: unknown, outDetail: unknown): Fields {
  const input_tokens = countOf(input);
  const output_tokens = countOf(output);
  const { cached_tokens, cache_write_tokens } = fieldsOf(inDetail);
  return {
    input_tokens,
    input_tokens_details: {
      cached_tokens: countOf(cached_tokens),
      cache_write_tokens: countOf(cache_write_tokens),
    },
    output_tokens,
    output_tokens_details: { reasoning_tokens: countOf(fieldsOf(outDetail).reasoning_tokens) },
    total_tokens: input_tokens + output_tokens,
  };
}
