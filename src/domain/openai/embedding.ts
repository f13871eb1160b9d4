/** The output of an embedding model in the OpenAI convention's format. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Fields } from "../../lib/fields.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import type { Cost } from "../../protocol/money.ts";
import { chatUsage } from "../../protocol/openai/chat.ts";
import { costIn, TranslationFailed } from "./translation.ts";

interface EmbeddingList {
  object: "list";
  data: { object: "embedding"; index: number; embedding: Json[] | string }[];
  model: string;
  usage: { prompt_tokens: number; total_tokens: number; cost?: number };
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
  { metrics, cost }: { metrics: Metrics | null; cost?: Cost | null },
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
    usage: { ...usageOf(answers, metrics), ...costIn(cost) },
  };
}

const EXPECTED =
  'Expected: {"data": [{"embedding": […]}]}, {"embeddings": [[…]]}, a list of vectors, or one vector of numbers.';

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
  const usages = answers
    .map((answer) => chatUsage.safeParse(isObject(answer) ? answer.usage : undefined).data)
    .filter((usage) => usage !== undefined);
  const counted = metrics?.input_tokens ?? 0;
  if (usages.length === 0) return { prompt_tokens: counted, total_tokens: counted };
  return {
    prompt_tokens: usages.reduce((sum, one) => sum + one.prompt_tokens, 0),
    total_tokens: usages.reduce((sum, one) => sum + (one.total_tokens ?? one.prompt_tokens), 0),
  };
}

type EmbeddingFormat = "float" | "base64";

const FLOAT_BYTES = 4;
/** The bytes of a piece: a multiple of 3, so that base64 can be joined, and few enough for one call. */
const PIECE_BYTES = 24_576;

/** Converts a vector of either format. @throws TranslationFailed when the value is not a vector */
function convertVector(format: EmbeddingFormat, vector: Json | undefined): Json[] | string {
  if (isVector(vector)) return format === "float" ? vector : base64Of(vector);
  if (typeof vector !== "string") {
    throw new TranslationFailed(
      "An embedding in the model's output is neither a list of numbers nor base64.",
    );
  }
  const floats = floatsOf(vector);
  return format === "float" ? floats : vector;
}

/** Whether a value is a vector. Zod would take seconds for the numbers of 2,048 vectors. */
const isVector = (value: Json | undefined): value is Json[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => numberIn(one) !== undefined);

function base64Of(vector: Json[]): string {
  const view = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (let n = 0; n < vector.length; n++)
    view.setFloat32(n * FLOAT_BYTES, numberIn(vector[n]) ?? 0, true);
  let text = "";
  for (let at = 0; at < view.byteLength; at += PIECE_BYTES) {
    // `bytes` is an array, because spreading a typed array takes ten times as long.
    const bytes = new Array<number>(Math.min(PIECE_BYTES, view.byteLength - at));
    for (let n = 0; n < bytes.length; n++) bytes[n] = view.getUint8(at + n);
    text += btoa(String.fromCharCode(...bytes));
  }
  return text;
}

function floatsOf(base64: string): number[] {
  const bytes = bytesOf(base64);
  const view = new DataView(bytes.buffer);
  const floats = new Array<number>(bytes.length / FLOAT_BYTES);
  for (let n = 0; n < floats.length; n++) {
    const float = view.getFloat32(n * FLOAT_BYTES, true);
    if (!Number.isFinite(float)) {
      throw new TranslationFailed(
        "An embedding in the model's output contains a value that is not a number.",
      );
    }
    floats[n] = float;
  }
  return floats;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  let text = "";
  try {
    text = atob(base64);
  } catch {
    throw new TranslationFailed(
      "An embedding in the model's output is a string that is not base64.",
    );
  }
  if (text.length === 0 || text.length % FLOAT_BYTES !== 0) {
    throw new TranslationFailed(
      `A base64 embedding in the model's output has ${text.length} bytes, which is not a multiple of ${FLOAT_BYTES} (float32).`,
    );
  }
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n);
  return bytes;
}
