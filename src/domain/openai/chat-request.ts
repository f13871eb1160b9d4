/** The body of a responses call as that of a chat call, for containers that support only chats. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { responseRequest } from "../../protocol/openai/response.ts";
import { plainItems } from "./plain-items.ts";
import { toolPaths, withPlainTools } from "./plain-tools.ts";
import { itemsOf } from "./response-items.ts";
import { type Fields, fieldsOf, listOf, textOf } from "./response-json.ts";
import { messagesOf } from "./response-messages.ts";
import {
  allowedTools,
  knownEffort,
  NotSupportedByChat,
  withoutDependents,
} from "./strict-fields.ts";
import type { LocatedMessage } from "./strict-messages.ts";

/** Fields that chats do not have, or that Auspex handles itself. */
const OMITTED_FIELDS = new Set([
  "background",
  "client_metadata",
  "context_management",
  "conversation",
  "generate",
  "include",
  "input",
  "instructions",
  "max_output_tokens",
  "max_tool_calls",
  "metadata",
  "previous_response_id",
  "prompt",
  "reasoning",
  "service_tier",
  "store",
  "stream",
  "stream_options",
  "text",
  "tool_choice",
  "tools",
  "top_logprobs",
  "truncation",
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
  return {
    ...(known.length > 0 && { tools: known }),
    ...choiceOf(tool_choice, type, name),
  };
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
  throw new NotSupportedByChat(
    "tool_choice",
    `the model's container has no tools of type '${textOf(type)}': it supports functions only.`,
  );
}

function toolOf({ type, name, description, parameters, strict }: Fields, param: string): Fields {
  if (type !== "function") {
    throw new NotSupportedByChat(
      param,
      `the model's container has no tools of type '${textOf(type)}': it supports functions only.`,
    );
  }
  return {
    type,
    function: {
      name: name ?? "",
      ...(description && { description }),
      ...(parameters && { parameters }),
      ...(typeof strict === "boolean" && { strict }),
    },
  };
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
