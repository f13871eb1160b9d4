import { expect, test } from "vitest";
import { countRequestOf } from "../../../src/domain/anthropic/token-count.ts";
import type { Fields } from "../../../src/lib/fields.ts";

test("a response's request is counted like a message's, with everything that has tokens", () => {
  const request: Fields = {
    instructions: "Be brief",
    tools: [
      { type: "function", name: "weather", description: "d", parameters: { type: "object" } },
    ],
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Look" },
          { type: "input_image", image_url: "data:image/png;base64,AAAA" },
          { type: "input_image", image_url: "https://example.com/a.png" },
        ],
      },
      { type: "function_call", call_id: "c", name: "weather", arguments: '{"city":"Oslo"}' },
      { type: "function_call_output", call_id: "c", output: "Rain" },
    ],
  };
  expect(countRequestOf("ada/m", request)).toEqual({
    model: "ada/m",
    system: "Be brief",
    tools: [{ name: "weather", description: "d", input_schema: { type: "object" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
          { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "c", name: "weather", input: { city: "Oslo" } }],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: "Rain" }] },
    ],
  });
});
