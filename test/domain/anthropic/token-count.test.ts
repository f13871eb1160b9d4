/** The estimate of tokens for containers that do not count. */
import { expect, test } from "vitest";
import { estimatedTokens } from "../../../src/domain/anthropic/token-count.ts";
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
