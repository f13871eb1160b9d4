/** The output of an embedding model in the OpenAI convention's format. */
import { numberIn } from "../../lib/exact-json.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import { chatUsage } from "../../protocol/openai/chat.ts";
import { convertVector, type EmbeddingFormat, isVector } from "./embedding-vector.ts";
import { TranslationFailed } from "./translation.ts";

type Fields = { [field: string]: Json };

export interface EmbeddingList {
  object: "list";
  data: { object: "embedding"; index: number; embedding: Json[] | string }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number };
}

/**
 * Returns the vectors in the order of the inputs. The output of a model is a response of the convention,
 * `{"embeddings": […]}`, a list of vectors, one vector, or several of these. Unknown fields stay.
 * @throws TranslationFailed
 */
export function embeddingsOf(
  model: string,
  outputs: Json[],
  format: EmbeddingFormat,
  metrics: Metrics | null,
): EmbeddingList {
  // A single vector as the whole output arrives as a list of numbers.
  const answers = isVector(outputs) ? [outputs] : outputs;
  const entries = answers.flatMap(entriesOf);
  if (entries.length === 0)
    throw new TranslationFailed(`The model's output has no embedding. ${EXPECTED}`);
  const numbered = isNumbered(entries);
  const data = entries.map(({ index, embedding, ...rest }, position) => ({
    ...withoutNulls(rest),
    object: "embedding" as const,
    index: numbered ? (numberIn(index) ?? position) : position,
    embedding: convertVector(format, embedding),
  }));
  return {
    ...Object.assign({}, ...answers.map(otherFields)),
    object: "list",
    data: data.sort((a, b) => a.index - b.index),
    model,
    usage: usageOf(answers, metrics),
  };
}

const EXPECTED =
  'Expected are {"data": [{"embedding": […]}]}, {"embeddings": [[…]]}, a list of vectors, or one vector of numbers.';

/** Returns the vectors of one output, each with its other fields. */
function entriesOf(output: Json): Fields[] {
  const list = isObject(output) ? (output.data ?? output.embeddings ?? output) : output;
  const entries = isVector(list) || isObject(list) ? [list] : list;
  if (!Array.isArray(entries)) {
    throw new TranslationFailed(`The model's output is not embeddings. ${EXPECTED}`);
  }
  return entries.map((entry) => {
    if (isObject(entry) && entry.embedding !== undefined) return entry;
    if (isVector(entry)) return { embedding: entry };
    throw new TranslationFailed(
      `The model's output contains something other than vectors. ${EXPECTED}`,
    );
  });
}

/** Whether the model numbers the vectors itself: each index once. */
function isNumbered(entries: Fields[]): boolean {
  const indexes = new Set(entries.map(({ index }) => numberIn(index)));
  return entries.every((_, position) => indexes.has(position));
}

function otherFields(output: Json): Fields {
  if (!isObject(output)) return {};
  const { data, embeddings, embedding, index, ...rest } = output;
  return withoutNulls(rest);
}

function usageOf(answers: Json[], metrics: Metrics | null): EmbeddingList["usage"] {
  const told = answers
    .map((answer) => chatUsage.safeParse(isObject(answer) ? answer.usage : undefined).data)
    .filter((usage) => usage !== undefined);
  const counted = metrics?.input_tokens ?? 0;
  if (told.length === 0) return { prompt_tokens: counted, total_tokens: counted };
  return {
    prompt_tokens: told.reduce((sum, one) => sum + one.prompt_tokens, 0),
    total_tokens: told.reduce((sum, one) => sum + (one.total_tokens ?? one.prompt_tokens), 0),
  };
}
