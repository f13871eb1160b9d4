/** The estimate of tokens for containers that do not count. */
import { expect, test } from "vitest";
import { countRequestOf, estimatedTokens } from "../../../src/domain/anthropic/token-count.ts";
import type { Fields } from "../../../src/lib/fields.ts";
import type { Json } from "../../../src/protocol/common.ts";

const messages = [{ role: "user", content: "x".repeat(396) }];

test("four characters count as a token, wherever they are", () => {
  expect(estimatedTokens({ messages })).toBe(100);
  expect(estimatedTokens({ messages, system: "y".repeat(40) })).toBe(110);
  const blocks = [{ role: "user", content: [{ type: "text", text: "x".repeat(396) }] }];
  expect(estimatedTokens({ messages: blocks })).toBe(100);
  expect(estimatedTokens({ messages, tools: [{ name: "z".repeat(40) }] })).toBe(110);
});

test("an image counts a fixed number of tokens, whatever its size", () => {
  const source = (data: string) => ({ type: "base64", media_type: "image/png", data });
  const of = (data: string) =>
    estimatedTokens({
      messages: [{ role: "user", content: [{ type: "image", source: source(data) }] }],
    });
  expect(of("a".repeat(100_000))).toBe(of("a"));
  expect(of("a")).toBeGreaterThan(1_500);
});

test("a conversation of any depth is counted", () => {
  let input: Json = "x".repeat(400);
  for (let n = 0; n < 100_000; n++) input = { input };
  expect(estimatedTokens({ messages: [{ content: [{ type: "tool_use", input }] }] })).toBe(100);
});

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
