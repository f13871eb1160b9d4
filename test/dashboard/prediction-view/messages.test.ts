/** Messages in the fields of an input, and what the page shows of each. */
import { expect, test } from "vitest";
import { messagesIn } from "../../../src/dashboard/prediction-view/output-kind.ts";

test("texts are shown as such, and other parts by their kind", () => {
  const messages = messagesIn([
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: "https://a.example/cat.png" } },
        { type: "input_audio", input_audio: {} },
        { type: "input_text", text: "And this?" },
      ],
    },
    { role: "assistant", content: null, tool_calls: [{ id: "1", function: { name: "weather" } }] },
    { role: "assistant", content: [{ type: "tool_use", id: "2", name: "clock", input: {} }] },
    { role: "user", content: [] },
  ]);
  expect(messages).toEqual([
    { role: "system", text: "Be brief.", others: [] },
    { role: "user", text: "What is it?\nAnd this?", others: ["image", "audio"] },
    { role: "assistant", text: "", others: ["tool call: weather"] },
    { role: "assistant", text: "", others: ["tool use: clock"] },
    { role: "user", text: "", others: [] },
  ]);
});

test.each([
  ["no list", { role: "user", content: "Hi" }],
  ["nothing", []],
  ["records that have a role", [{ role: "admin", name: "Lena" }]],
  ["a list that has something else, too", [{ role: "user", content: "Hi" }, "Hi"]],
  ["content of no known form", [{ role: "user", content: 4 }]],
])("a value is not shown as messages: %s", (_, value) => {
  expect(messagesIn(value)).toBeUndefined();
});
