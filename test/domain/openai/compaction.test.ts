import { expect, test } from "vitest";
import {
  compactionItem,
  withSummaries,
  withTask,
} from "../../../src/domain/openai/conversation.ts";

test("a summary comes back as a message, whatever its text is", () => {
  const item = compactionItem("cmp_1", "Tee für 🐭\n1. x");
  expect(item.encrypted_content).toMatch(/^auspex-summary-1:[\w+/=]+$/);
  const [message, other] = withSummaries([item, { role: "user", content: "Go on" }]);
  expect(message).toMatchObject({
    role: "developer",
    content: [{ text: "Summary of the conversation so far:\n\nTee für 🐭\n1. x" }],
  });
  expect(other).toEqual({ role: "user", content: "Go on" });
});

test("an invalid or unknown compaction item stays unchanged", () => {
  for (const encrypted_content of ["gAAAA", "auspex-summary-1:?", ""]) {
    const item = { type: "compaction", encrypted_content };
    expect(withSummaries([item])).toEqual([item]);
  }
});

test("the request for a summary is the last message", () => {
  const said = { role: "user", content: "Go on" };
  expect(withTask([said])).toMatchObject([said, { role: "user" }]);
});
