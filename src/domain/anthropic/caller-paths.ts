/** Paths of a translated chat request, as paths of the caller's messages request. */
import { chatPathReplacer } from "../openai/caller-paths.ts";
import { type Fields, listOf } from "../openai/response-json.ts";
import { locatedMessages } from "./chat-messages.ts";

/** Fields that have another name. */
const NAMES = {
  "response_format.json_schema": "output_config.format",
  response_format: "output_config.format",
  reasoning_effort: "output_config.effort",
  parallel_tool_calls: "tool_choice.disable_parallel_tool_use",
};

/** Paths that continue with the chat's own notation of a place in a list. */
const INDEXED = /\b(?:system|messages\.\d+|tools\.\d+)(?:\.\w+|\[\d+\])+/g;

/** @returns a function that replaces the chat's paths by the caller's, in a text or a single path */
export function toCallerPaths(request: Fields): (text: string) => string {
  const replace = chatPathReplacer({
    messages: locatedMessages(request),
    tools: listOf(request.tools).map((_, n) => `tools.${n}`),
    names: NAMES,
  });
  return (text) => replace(text).replace(INDEXED, (path) => path.replaceAll(/\[(\d+)\]/g, ".$1"));
}
