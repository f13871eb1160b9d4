/**
 * When a call was translated into a chat call, the container's errors name paths of the chat request.
 * These are translated back into paths of the caller's request.
 */
import { locatedMessages } from "./chat-request.ts";
import { toolPaths } from "./plain-tools.ts";
import type { Fields } from "./response-json.ts";
import type { LocatedMessage } from "./strict-messages.ts";

/** The caller's places for the parts of the chat request. */
interface CallerPlaces {
  messages: LocatedMessage[];
  /** The paths of the caller's tools. */
  tools: string[];
  /** The caller's names of fields that have another name in the chat, by that name. */
  names: Record<string, string>;
}

/** The names of a responses request. */
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
