/** Translates a model's output for a completion into the chunks of the convention's stream. */
import { z } from "zod";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type CompletionChunk, chatUsage, completionChunk } from "../../protocol/openai/chat.ts";
import { valuesIn } from "./output-values.ts";
import { TranslationFailed } from "./translation.ts";

const EXPECTED =
  'text, in pieces or whole, or objects of the convention, {"choices": [{"text": "…"}]}';

/**
 * Returns one output as chunks: text becomes one, and an object of the convention stays itself, with its
 * unknown fields.
 * @throws TranslationFailed for anything else
 */
export function completionChunksOf(output: Json): CompletionChunk[] {
  if (typeof output === "string") return [{ choices: [{ index: 0, text: output }] }];
  if (isPlainChunk(output)) return [output];
  // A Cog model that does not stream returns its list of pieces as one value.
  if (output === null || Array.isArray(output))
    return [...valuesIn(output)].flatMap(completionChunksOf);
  const { success, data, error } = completionChunk.safeParse(output);
  if (success) return [data];
  throw new TranslationFailed(
    `The model's output is no completion: ${z.prettifyError(error)}. Expected: ${EXPECTED}.`,
  );
}

/**
 * Whether a value is a chunk that needs no change. As for chats (chat-chunks.ts), the check does not use zod.
 */
function isPlainChunk(value: unknown): value is CompletionChunk {
  return (
    isObject(value) &&
    Array.isArray(value.choices) &&
    value.choices.every(isPlainChoice) &&
    (isNothing(value.usage) || chatUsage.safeParse(value.usage).success)
  );
}

const isPlainChoice = (value: unknown) =>
  isObject(value) &&
  Number.isSafeInteger(value.index) &&
  Number(value.index) >= 0 &&
  isText(value.text) &&
  isText(value.finish_reason);

const isNothing = (value: unknown) => value === undefined || value === null;
const isText = (value: unknown) => isNothing(value) || typeof value === "string";
