/** The body of a responses call as that of a chat call, for containers that support only chats. */
import { numberIn } from "../../lib/exact-json.ts";
import { type Fields, fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { responseRequest } from "../../protocol/openai/response.ts";
import { itemsOf } from "./conversation.ts";
import { plainItems, toolPaths, withPlainTools } from "./plain-items.ts";
import { messagesOf } from "./response-messages.ts";
import {
  allowedTools,
  functionTool,
  knownEffort,
  type LocatedMessage,
  NotSupportedByChat,
  noToolsOf,
  withoutDependents,
} from "./strict-chat.ts";

/** Fields that chats do not have, or that Auspex handles itself. */
const OMITTED_FIELDS = new Set([
  ...["background", "client_metadata", "context_management", "conversation", "generate"],
  ...["include", "input", "instructions", "max_output_tokens", "max_tool_calls", "metadata"],
  ...["previous_response_id", "prompt", "reasoning", "service_tier", "store", "stream"],
  ...["stream_options", "text", "tool_choice", "tools", "top_logprobs", "truncation"],
]);

/**
 * Translates the body. Unknown fields, such as servers' own sampling parameters, are passed on unchanged.
 * @throws NotSupportedByChat
 */
export function chatRequestOf(asked: Fields): Fields {
  const request = withPlainTools(asked);
  const { max_output_tokens, reasoning, stream, background } = request;
  const { effort } = fieldsOf(reasoning);
  const streams = stream === true || background === true;
  const rest = Object.entries(request).filter(
    ([name, value]) => value !== null && !OMITTED_FIELDS.has(name),
  );
  return withoutDependents({
    ...Object.fromEntries(rest),
    messages: locatedMessages(asked).map(({ message }) => message),
    ...toolsOf(request, toolPaths(asked.tools)),
    // Many servers do not support `max_completion_tokens` yet; all support `max_tokens`.
    ...(max_output_tokens && { max_tokens: max_output_tokens }),
    ...logprobsOf(request),
    ...textFormatOf(fieldsOf(request.text)),
    ...(effort && { reasoning_effort: knownEffort(effort) }),
    stream: streams,
    ...(streams && { stream_options: { include_usage: true } }),
  });
}

export const locatedMessages = (request: Fields): LocatedMessage[] =>
  messagesOf(
    textOf(request.instructions),
    plainItems({ ...request, input: itemsOf(inputOf(request)) }).items,
  );

function inputOf({ input }: Fields) {
  const { success, data } = responseRequest.shape.input.safeParse(input);
  if (success) return data;
  throw new NotSupportedByChat("input", "it has to be text, or a list of items.");
}

function toolsOf({ tools, tool_choice }: Fields, places: string[]): Fields {
  const known = listOf(tools).map((tool, n) => toolOf(fieldsOf(tool), places[n] ?? "tools"));
  const { type, name } = fieldsOf(tool_choice);
  if (type === "allowed_tools") return allowedTools(known, fieldsOf(tool_choice));
  return { ...(known.length > 0 && { tools: known }), ...choiceOf(tool_choice, type, name) };
}

function choiceOf(
  choice: Json | undefined,
  type: Json | undefined,
  name: Json | undefined,
): Fields {
  if (typeof choice === "string") return { tool_choice: choice };
  if (type === "function") {
    return { tool_choice: { type, function: { name: name ?? "" } } };
  }
  if (type === undefined) return {};
  throw noToolsOf(type, "tool_choice");
}

function toolOf({ type, name, description, parameters, strict }: Fields, param: string): Fields {
  if (type !== "function") throw noToolsOf(type, param);
  return functionTool({ name, description, parameters, strict });
}

/** `top_logprobs` requests alternatives; `include` requests the logprobs of the chosen tokens. */
function logprobsOf({ top_logprobs, include }: Fields): Fields {
  const some = (numberIn(top_logprobs) ?? 0) > 0;
  if (!some && !listOf(include).includes("message.output_text.logprobs")) return {};
  return { logprobs: true, ...(some && { top_logprobs }) };
}

function textFormatOf({ format, verbosity }: Fields): Fields {
  const { type, ...schema } = fieldsOf(format);
  const given = Object.entries(schema).filter(([, value]) => value !== null);
  return {
    ...(type === "json_object" && { response_format: { type } }),
    ...(type === "json_schema" && {
      response_format: { type, json_schema: Object.fromEntries(given) },
    }),
    ...(verbosity && { verbosity }),
  };
}

/** Errors of the container name paths of the chat request, which become those of the caller's request. */

interface CallerPlaces {
  messages: LocatedMessage[];
  tools: string[];
  /** The caller's names of fields that have another name in the chat, by that name. */
  names: Record<string, string>;
}

const NAMES: Record<string, string> = {
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
  "response_format.json_schema": "text.format",
  response_format: "text.format",
  reasoning_effort: "reasoning.effort",
};

/** @returns a function that replaces the chat's paths by the caller's, in a text or a single path */
export const toCallerPaths = (request: Fields): ((text: string) => string) =>
  chatPathReplacer({
    messages: locatedMessages(request),
    tools: toolPaths(request.tools),
    names: NAMES,
  });

const INDEX = String.raw`(?:\[(\d+)\]|\.(\d+))`;

export function chatPathReplacer({ messages, tools, names }: CallerPlaces) {
  const fields = Object.keys(names).join("|").replaceAll(".", "\\.");
  const chatPaths = new RegExp(
    String.raw`\bmessages${INDEX}(?:\.tool_calls${INDEX}(?:\.function\b)?)?|\btools${INDEX}(?:\.function\b)?|\b(?:${fields})\b`,
    "g",
  );
  return (text: string): string =>
    text.replace(chatPaths, (chatPath: string, ...found: (string | undefined)[]) => {
      const [message, call, tool] = [0, 2, 4].map((n) => found[n] ?? found[n + 1]);
      if (tool !== undefined) return tools[Number(tool)] ?? chatPath;
      if (message === undefined) return names[chatPath] ?? chatPath;
      const located = messages[Number(message)];
      return (call === undefined ? located?.path : located?.callPaths[Number(call)]) ?? chatPath;
    });
}
