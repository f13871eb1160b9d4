/**
 * When a responses call was translated into a chat call, the container's errors name paths of the
 * chat request. These are translated back into paths of the caller's request.
 */
import { locatedMessages } from "./chat-request.ts";
import { toolPaths, withPlainTools } from "./plain-tools.ts";
import type { Fields } from "./response-json.ts";

/** Other fields that have another name. */
const NAMES: Record<string, string> = {
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
  "response_format.json_schema": "text.format",
  response_format: "text.format",
  reasoning_effort: "reasoning.effort",
};

const INDEX = String.raw`(?:\[(\d+)\]|\.(\d+))`;
const CHAT_PATH = new RegExp(
  String.raw`\bmessages${INDEX}(?:\.tool_calls${INDEX}(?:\.function\b)?)?|\btools${INDEX}(?:\.function\b)?|\b(?:${Object.keys(NAMES).join("|").replaceAll(".", "\\.")})\b`,
  "g",
);

/** @returns a function that replaces the chat's paths by the caller's, in a text or a single path */
export function toCallerPaths(request: Fields): (text: string) => string {
  const messages = locatedMessages(withPlainTools(request));
  const tools = toolPaths(request.tools);
  return (text) =>
    text.replace(CHAT_PATH, (chatPath: string, ...found: (string | undefined)[]) => {
      const [message, call, tool] = [0, 2, 4].map((n) => found[n] ?? found[n + 1]);
      if (tool !== undefined) return tools[Number(tool)] ?? chatPath;
      if (message === undefined) return NAMES[chatPath] ?? chatPath;
      const located = messages[Number(message)];
      return (call === undefined ? located?.path : located?.callPaths[Number(call)]) ?? chatPath;
    });
}
