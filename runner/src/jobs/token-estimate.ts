/** Counts the characters of a model's input and output, to estimate tokens. */

import { isObject } from "../../../src/lib/json.ts";
import type { Json } from "../../../src/protocol/common.ts";

/** The fields of requests that hold text for the model; image URLs and ids do not count. */
const INPUT_FIELDS = ["messages", "input", "instructions", "prompt", "query", "documents"];
const TEXT_FIELDS = ["content", "text", "output", "arguments", "refusal", "reasoning_content"];

/** Deeper than any real request, and shallow enough for the stack. */
const MAX_DEPTH = 20;

/** Returns the characters in an input. A number counts as one token, since lists of numbers are token ids. */
export const inputCharacters = (input: Record<string, Json>, perToken: number): number =>
  INPUT_FIELDS.reduce((sum, name) => sum + countCharacters(input[name], perToken, 0), 0);

function countCharacters(value: Json | undefined, perToken: number, depth: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value === "number") return perToken;
  if (depth > MAX_DEPTH) return 0;
  const parts = Array.isArray(value)
    ? value
    : isObject(value)
      ? [...TEXT_FIELDS, "tool_calls", "function"].map((name) => value[name])
      : [];
  return parts.reduce<number>((sum, part) => sum + countCharacters(part, perToken, depth + 1), 0);
}

/** Characters of text in an output, in any of the OpenAI-compatible shapes. */
export function outputCharacters(output: Json): number {
  if (typeof output === "string") return output.length;
  if (!isObject(output)) return 0;
  const { choices, delta, type } = output;
  if (Array.isArray(choices)) return sum(choices, choiceCharacters);
  if (type === "message")
    return Array.isArray(output.content) ? sum(output.content, blockCharacters) : 0;
  // `type` marks an event: the last event of a response repeats the text of the deltas.
  if (typeof type === "string") return isObject(delta) ? blockCharacters(delta) : textLength(delta);
  if (Array.isArray(output.output)) return sum(output.output, itemCharacters);
  // A transcript.
  return textLength(output.text);
}

/** Whether this is a stream chunk without text, such as one that only sets the role. */
export function isPreamble(output: Json): boolean {
  if (!isObject(output)) return false;
  const { choices, type } = output;
  const isPiece = typeof type === "string" && EVENT.test(type);
  return (isPiece || Array.isArray(choices)) && outputCharacters(output) === 0;
}

/** The names of a stream's events, in either convention. */
const EVENT = /^(?:response\.|message_|content_block_)/;

function blockCharacters(block: Json): number {
  if (!isObject(block)) return 0;
  const { text, thinking, partial_json } = block;
  const input = isObject(block.input) ? JSON.stringify(block.input).length : 0;
  return textLength(text) + textLength(thinking) + textLength(partial_json) + input;
}

function choiceCharacters(choice: Json): number {
  if (!isObject(choice)) return 0;
  const message = isObject(choice.delta) ? choice.delta : choice.message;
  if (!isObject(message)) return textLength(choice.text);
  const { content, refusal, reasoning_content: thought, reasoning, tool_calls: calls } = message;
  const text = textLength(content) + textLength(refusal) + textLength(thought ?? reasoning);
  return Array.isArray(calls) ? text + sum(calls, callCharacters) : text;
}

const callCharacters = (call: Json) =>
  isObject(call) && isObject(call.function) ? functionCharacters(call.function) : 0;

const functionCharacters = ({ name, arguments: args }: Record<string, Json>) =>
  textLength(name) + textLength(args);

/** An item of a response: a message, reasoning, or a tool call. */
function itemCharacters(item: Json): number {
  if (!isObject(item)) return 0;
  const parts = [item.content, item.summary].flatMap((list) => (Array.isArray(list) ? list : []));
  const inPart = (part: Json) => (isObject(part) ? textLength(part.text ?? part.refusal) : 0);
  return functionCharacters(item.type === "function_call" ? item : {}) + sum(parts, inPart);
}

const textLength = (value: Json | undefined) => (typeof value === "string" ? value.length : 0);

const sum = (list: Json[], length: (value: Json) => number) =>
  list.reduce<number>((total, value) => total + length(value), 0);
