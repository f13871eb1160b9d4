import { expect, test } from "vitest";
import { toCallerPaths } from "../../../src/domain/openai/chat-request.ts";

const call = (call_id: string) => ({ type: "function_call", call_id, name: "f", arguments: "{}" });
const tool = { type: "function", name: "f" };
const said = toCallerPaths({
  model: "a/b",
  instructions: "Be brief.",
  input: [
    { role: "developer", content: "One" },
    { role: "user", content: "Two" },
    { type: "reasoning", summary: [] },
    call("1"),
    call("2"),
    { type: "function_call_output", call_id: "1", output: "x" },
  ],
  tools: [tool, { type: "namespace", name: "n", tools: [tool, tool] }],
});

test.each([
  ["messages[0].content", "instructions.content"],
  ["messages[1].content[2].type", "input[1].content[2].type"],
  ["messages[2].tool_calls[1].function.arguments", "input[4].arguments"],
  ["messages[3].content", "input[5].content"],
  ["messages.1.content: too long", "input[1].content: too long"],
  ["messages[9] is not there, nor is messages", "messages[9] is not there, nor is messages"],
  ["tools[2].function.parameters", "tools[1].tools[1].parameters"],
  ["max_tokens is too large: max_tokens", "max_output_tokens is too large: max_output_tokens"],
  ["'response_format.json_schema.schema'", "'text.format.schema'"],
  ["temperature", "temperature"],
])("the container's path %s is the caller's path %s", (theirs, callers) => {
  expect(said(theirs)).toBe(callers);
});
