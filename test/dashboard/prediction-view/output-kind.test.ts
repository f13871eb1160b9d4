/** Kinds of outputs on a page, on the server and in the browser: a text, a link, a file or a tree. */
import { expect, test } from "vitest";
import {
  type Output,
  outputOf,
  outputsOf,
} from "../../../src/dashboard/prediction-view/output-kind.ts";
import type { Json } from "../../../src/protocol/common.ts";

const host = "auspex.test";
const FILES = "/v1/files/01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const SIGNED = "?expires=9999999999&signature=a";

const shown = (...values: Json[]) => outputsOf(values, { display: "text", host, whole: true });
const text = (words: string): Output[] => [{ kind: "text", text: words }];

test.each([
  ["out.png", "image"],
  ["out.mp3", "audio"],
  ["out.mp4", "video"],
  ["out.bin", "file"],
])("the file %s of this deployment is shown as %s", (name, kind) => {
  const address = `${FILES}/${name}${SIGNED}`;
  expect(shown(`https://${host}${address}`)).toEqual([{ kind, address, name }]);
});

test.each([
  "https://elsewhere.example/out.png",
  `https://${host}.elsewhere.example${FILES}/out.png`,
  `https://${host}/v1/user/out.png`,
  `https://${host}/v1/files/../user/out.png`,
  `https://${host}:444${FILES}/out.png`,
])("an output with another address is a link: %s", (address) => {
  const link = { kind: "link", address: new URL(address).href, text: address };
  expect(shown(address)).toEqual([link]);
});

test.each([
  "javascript:alert(1)",
  "data:text/html,<script>",
  "https://a b.example/",
  "https://",
  `https://${host}${FILES}/out.png?expires=1`,
])("an output without a web address that leads somewhere is a text: %s", (words) =>
  expect(shown(words)).toEqual(text(words)),
);

test("an address is a link in its original words, unless it may go on", () => {
  const typed = "http://Example.com:80/a/../b";
  const link = { kind: "link", address: "http://example.com/b", text: typed };
  expect(shown(typed)).toEqual([link]);
  expect(shown([typed])).toEqual([{ kind: "list", items: [typed] }]);
  expect(outputsOf([typed], { display: "text", host, whole: false })).toEqual(text(typed));
  for (const pieces of [
    ["https://", "docs", ".python", ".org"],
    ["see ", "https://Example.com", "."],
  ])
    expect(shown(...pieces)).toEqual(text(pieces.join("")));
});

test("an answer with nothing but pictures is a list of them", () => {
  const png = "iVBORw0KGgo=";
  const data = [{ b64_json: png }, { b64_json: "/9j/4AAQ" }];
  expect(outputOf({ created: 1, data }, host)).toEqual({
    kind: "list",
    items: [`data:image/png;base64,${png}`, "data:image/jpeg;base64,/9j/4AAQ"],
  });
  const said = { data: [{ b64_json: png, revised_prompt: "A cat" }] };
  expect(outputOf(said, host).kind).toBe("json");
});

const whole = (message: object): Json =>
  JSON.parse(JSON.stringify({ choices: [{ message: { role: "assistant", ...message } }] }));
const piece = (delta: { [key: string]: Json }): Json => ({
  id: "1",
  choices: [{ index: 0, delta, finish_reason: null }],
});
const event = (type: string, rest: { [key: string]: Json }): Json => ({
  type: `response.${type}`,
  ...rest,
});
const item = (words: string) => ({
  type: "message",
  content: [{ type: "output_text", text: words }],
});

test.each<[string, Json[]]>([
  ["pieces of a chat", [piece({ content: "Off " }), piece({ content: "with" }), { choices: [] }]],
  ["a refusal, in pieces", [piece({ refusal: "Off " }), piece({ refusal: "with" })]],
  ["a refusal", [whole({ content: null, refusal: "Off with" })]],
  [
    "reasoning, in pieces",
    [piece({ reasoning_content: "Off " }), piece({ content: "with", tool_calls: [] })],
  ],
  [
    "a list of parts",
    [whole({ content: ["Off ", "with"].map((part) => ({ type: "text", text: part })) })],
  ],
  ["text that is only told at its end", [event("output_text.done", { text: "Off with" })]],
  ["a whole response", [event("completed", { response: { output: [item("Off with")] } })]],
  [
    "a response told bit by bit and then whole",
    [
      event("created", { response: {} }),
      event("output_item.added", { item: item("") }),
      event("output_text.delta", { delta: "Off " }),
      event("output_text.delta", { delta: "with" }),
      event("output_text.done", { text: "Off with" }),
      event("content_part.done", { part: { type: "output_text", text: "Off with" } }),
      event("output_item.done", { item: item("Off with") }),
      event("completed", { response: { output: [item("Off with")] } }),
    ],
  ],
])("an answer of the OpenAI convention is its text: %s", (_, values) => {
  expect(shown(...values)).toEqual(text("Off with"));
});

test("an answer shows thoughts first, and one of more than text stays a tree", () => {
  expect(shown(whole({ reasoning_content: "Hm.", content: "No." }))).toEqual(text("Hm.\n\nNo."));
  expect(shown(piece({ role: "assistant", content: "" }), { choices: [] })).toEqual([]);
  const call = { type: "function_call", name: "croquet", arguments: "{}" };
  for (const [value, ...before] of [
    [whole({ content: null, audio: { id: "a" } })],
    [piece({ tool_calls: [{ index: 0 }] })],
    [event("failed", { response: { error: {} } })],
    [
      event("completed", { response: { output: [call] } }),
      event("function_call_arguments.delta", { delta: "{}" }),
    ],
  ])
    expect(shown(...before, value ?? null)).toContainEqual({ kind: "json", value });
});
