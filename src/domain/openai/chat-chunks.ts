/** Translates a model's output for a chat into the chunks of the convention's stream. */
import { z } from "zod";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import {
  type ChatChunk,
  type ChatCompletion,
  chatChunk,
  chatCompletion,
  chatUsage,
} from "../../protocol/openai/chat.ts";
import { TranslationFailed, valuesIn } from "./translation.ts";

const EXPECTED =
  'text, in pieces or whole, or objects of the convention: chunks, {"choices": [{"delta": {"content": "…"}}]}, or a completion, {"choices": [{"message": {"content": "…"}}]}';

/**
 * Returns one output as chunks: text becomes one chunk, a chunk stays itself, a completion becomes one chunk
 * per choice and, if it has usage, one without choices. Unknown fields stay.
 * @throws TranslationFailed for anything else
 */
export function chunksOf(output: Json): ChatChunk[] {
  if (typeof output === "string") return [{ choices: [{ index: 0, delta: { content: output } }] }];
  if (isPlainChunk(output)) return [output];
  // A Cog model that does not stream returns its list of pieces as one value.
  if (output === null || Array.isArray(output)) return [...valuesIn(output)].flatMap(chunksOf);
  if (!isObject(output) || !Array.isArray(output.choices)) {
    throw new TranslationFailed(`The model's output is ${kindOf(output)}. Expected: ${EXPECTED}.`);
  }
  if (output.choices.some((choice) => isObject(choice) && isObject(choice.message))) {
    return chunksOfCompletion(parsed("completion", chatCompletion, output));
  }
  return [parsed("chunk", chatChunk, output)];
}

function parsed<T>(name: string, schema: z.ZodType<T>, value: Json): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new TranslationFailed(
    `The model's output is an invalid ${name}: ${z.prettifyError(result.error)}. Expected: ${EXPECTED}.`,
  );
}

function chunksOfCompletion({ choices, usage, ...rest }: ChatCompletion): ChatChunk[] {
  const chunks: ChatChunk[] = choices.map(({ message, ...choice }) => ({
    ...rest,
    choices: [{ ...choice, delta: message }],
  }));
  if (usage) chunks.push({ ...rest, choices: [], usage });
  return chunks;
}

/** Whether a chunk needs no change. Not with zod, which is slow without code generation. */
const isPlainChunk = (value: unknown): value is ChatChunk => hasChoices(value, isPlainChoice);

export const hasChoices = (value: unknown, isPlain: (choice: unknown) => boolean): boolean =>
  isObject(value) &&
  Array.isArray(value.choices) &&
  value.choices.every(isPlain) &&
  (isNothing(value.usage) || chatUsage.safeParse(value.usage).success);

const isPlainChoice = (value: unknown) =>
  isObject(value) &&
  isIndex(value.index) &&
  isText(value.finish_reason) &&
  isObject(value.delta) &&
  isText(value.delta.role) &&
  isText(value.delta.content) &&
  isText(value.delta.refusal) &&
  isText(value.delta.reasoning_content) &&
  isText(value.delta.reasoning) &&
  (isNothing(value.delta.tool_calls) ||
    (Array.isArray(value.delta.tool_calls) && value.delta.tool_calls.every(isPlainCall)));

const isPlainCall = (value: unknown) =>
  isObject(value) &&
  (isNothing(value.index) || isIndex(value.index)) &&
  isText(value.id) &&
  isNothing(value.custom) &&
  (isNothing(value.function) ||
    (isObject(value.function) && isText(value.function.name) && isText(value.function.arguments)));

const isNothing = (value: unknown) => value === undefined || value === null;
export const isText = (value: unknown) => isNothing(value) || typeof value === "string";
export const isIndex = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

function kindOf(output: Json): string {
  return typeof output === "object" ? "an object without choices" : `a ${typeof output}`;
}
