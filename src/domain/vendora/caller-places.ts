/**
 * A container that is asked for a chat, where its caller has asked for a response, names places of
 * the chat when it refuses. The caller knows those of the response.
 */
import { placedMessages } from "./chat-request.ts";
import { placesOfTools, withPlainTools } from "./plain-tools.ts";
import type { Fields } from "./response-json.ts";

/** What else goes by another name. */
const NAMES: Record<string, string> = {
  max_tokens: "max_output_tokens",
  max_completion_tokens: "max_output_tokens",
  "response_format.json_schema": "text.format",
  response_format: "text.format",
  reasoning_effort: "reasoning.effort",
};

const INDEX = String.raw`(?:\[(\d+)\]|\.(\d+))`;
const PLACE = new RegExp(
  String.raw`\bmessages${INDEX}(?:\.tool_calls${INDEX}(?:\.function\b)?)?|\btools${INDEX}(?:\.function\b)?|\b(?:${Object.keys(NAMES).join("|").replaceAll(".", "\\.")})\b`,
  "g",
);

/** What puts the caller's places for those of the chat, in a text or a single one. */
export function callersPlaces(request: Fields): (text: string) => string {
  const messages = placedMessages(withPlainTools(request));
  const tools = placesOfTools(request.tools);
  return (text) =>
    text.replace(PLACE, (said: string, ...found: (string | undefined)[]) => {
      const [message, call, tool] = [0, 2, 4].map((n) => found[n] ?? found[n + 1]);
      if (tool !== undefined) return tools[Number(tool)] ?? said;
      if (message === undefined) return NAMES[said] ?? said;
      const placed = messages[Number(message)];
      return (call === undefined ? placed?.place : placed?.calls[Number(call)]) ?? said;
    });
}
