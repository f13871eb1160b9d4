/** A container's errors about the chat, in terms of the messages that the caller has sent. */
import { expect, test } from "vitest";
import { toCallerPaths } from "../../../src/domain/anthropic/chat-request.ts";
import type { Json } from "../../../src/protocol/common.ts";

const REQUEST: Record<string, Json> = {
  system: "Be brief.",
  messages: [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "a", name: "weather", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: "Rain" },
        { type: "text", text: "Go on" },
      ],
    },
  ],
  tools: [{ name: "weather" }],
};

test.each([
  ["messages[0].content", "system.content"],
  ["messages.1", "messages.0"],
  ["messages[2].tool_calls[0].function.arguments", "messages.1.content.1.arguments"],
  ["messages[3].content: too long", "messages.2.content.0.content: too long"],
  ["messages[4]", "messages.2"],
  ["Invalid 'messages[1].content[0].type'.", "Invalid 'messages.0.content.0.type'."],
  ["tools[0].function.name", "tools.0.name"],
  ["response_format", "output_config.format"],
  ["reasoning_effort must be low", "output_config.effort must be low"],
  ["max_tokens", "max_tokens"],
  ["messages[9]", "messages[9]"],
  ["the model will stop", "the model will stop"],
])("the container's path %s is the caller's path %s", (path, expected) => {
  expect(toCallerPaths(REQUEST)(path)).toBe(expected);
});
