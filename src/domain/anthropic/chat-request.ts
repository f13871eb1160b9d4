/** The body of a messages call as that of a chat call, for containers that support only chats. */

import { type Fields, fieldsOf, listOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { chatPathReplacer } from "../openai/chat-request.ts";
import { functionTool, knownEffort, noToolsOf, withoutDependents } from "../openai/strict-chat.ts";
import { locatedMessages } from "./chat-messages.ts";

const OMITTED_FIELDS = new Set([
  ...["betas", "billing_policy", "cache_control", "compaction", "container"],
  ...["context_management", "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo"],
  ...["mcp_servers", "messages", "metadata", "output_config", "output_format", "service_tier"],
  ...["speed", "stop_sequences", "stream", "system", "thinking", "thread", "tool_choice"],
  ...["tools", "user_profile_id", "workspace_id"],
]);

/**
 * Translates the body. Unknown fields, such as servers' own sampling parameters, are passed on unchanged.
 * @throws NotSupportedByChat
 */
export function chatRequestOf(request: Fields): Fields {
  const { stop_sequences, output_config, output_format, stream } = request;
  const rest = Object.entries(request).filter(
    ([name, value]) => value !== null && !OMITTED_FIELDS.has(name),
  );
  const { effort, format } = fieldsOf(output_config);
  const streams = stream === true;
  return withoutDependents({
    ...Object.fromEntries(rest),
    messages: locatedMessages(request).map(({ message }) => message),
    ...toolsOf(request),
    ...(listOf(stop_sequences).length > 0 && { stop: listOf(stop_sequences) }),
    ...formatOf(fieldsOf(format ?? output_format)),
    ...(typeof effort === "string" && { reasoning_effort: knownEffort(effort) }),
    stream: streams,
    ...(streams && { stream_options: { include_usage: true } }),
  });
}

function toolsOf({ tools, tool_choice }: Fields): Fields {
  const known = listOf(tools).map((tool, n) => toolOf(fieldsOf(tool), `tools.${n}`));
  const { type, name, disable_parallel_tool_use } = fieldsOf(tool_choice);
  return {
    tools: known,
    ...choiceOf(type, name),
    ...(disable_parallel_tool_use === true && { parallel_tool_calls: false }),
  };
}

function choiceOf(type: Json | undefined, name: Json | undefined): Fields {
  switch (type) {
    case "any":
      return { tool_choice: "required" };
    case "tool":
      return { tool_choice: { type: "function", function: { name: name ?? "" } } };
    case "auto":
    case "none":
      return { tool_choice: type };
    default:
      return {};
  }
}

function toolOf({ type, name, description, input_schema, strict }: Fields, path: string): Fields {
  if (type != null && type !== "custom") throw noToolsOf(type, path);
  return functionTool({ name, description, parameters: input_schema, strict });
}

function formatOf({ type, schema }: Fields): Fields {
  if (type !== "json_schema") return {};
  return { response_format: { type, json_schema: { name: "output", schema: schema ?? {} } } };
}

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
