/** Completions of a text: their input, and their choices, streamed and whole. */

import { z } from "zod";
import { type Fields, fieldsOf, listOf } from "../../lib/fields.ts";
import { isObject, withoutNulls } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { type CompletionChunk, completionChunk } from "../../protocol/openai/chat.ts";
import { type Keywords, SchemaResolver } from "../schemas/input-form-schema.ts";
import { finishReasonOf } from "./chat.ts";
import { hasChoices, isIndex, isText } from "./chat-chunks.ts";
import type { ChoiceFormat } from "./choice-stream.ts";
import { TranslationFailed, valuesIn } from "./translation.ts";

/** The `object` of chunks and of whole answers. */
const OBJECT = "text_completion";

export const COMPLETIONS: ChoiceFormat<CompletionChunk["choices"][number], TextPiece> = {
  whole: OBJECT,
  chunk: OBJECT,
  chunksOf: completionChunksOf,
  begin: (index) => new CompletionChoice(index),
  wholes: () => new TextAssembler(),
};

const EXPECTED =
  'text, in pieces or whole, or objects of the convention, {"choices": [{"text": "…"}]}';

/** One output as chunks: unknown fields stay. @throws TranslationFailed for one of another kind */
function completionChunksOf(output: Json): CompletionChunk[] {
  if (typeof output === "string") return [{ choices: [{ index: 0, text: output }] }];
  if (isPlainChunk(output)) return [output];
  // A Cog model that does not stream returns its list of pieces as one value.
  if (output === null || Array.isArray(output))
    return [...valuesIn(output)].flatMap(completionChunksOf);
  const { success, data, error } = completionChunk.safeParse(output);
  if (success) return [data];
  throw new TranslationFailed(
    `The model's output is not a valid completion: ${z.prettifyError(error)}. Expected: ${EXPECTED}.`,
  );
}

/** Whether a value is a chunk that needs no change. As for chats, the check does not use zod. */
const isPlainChunk = (value: unknown): value is CompletionChunk => hasChoices(value, isPlainChoice);

const isPlainChoice = (value: unknown) =>
  isObject(value) && isIndex(value.index) && isText(value.text) && isText(value.finish_reason);

type Choice = CompletionChunk["choices"][number];

const FINISH_REASONS = ["stop", "length", "content_filter"] as const;

interface TextPiece extends Choice {
  text: string;
  finish_reason: (typeof FINISH_REASONS)[number] | null;
  /** Lists of facts about each token. */
  logprobs: Record<string, unknown> | null;
}

class CompletionChoice {
  readonly #index: number;
  #finished = false;

  constructor(index: number) {
    this.#index = index;
  }

  /** Returns the next piece. A finish reason is only in one; some servers send an empty one before. */
  piece({ text, finish_reason, logprobs, ...rest }: Choice): TextPiece {
    const reason = finish_reason && !this.#finished ? reasonOf(finish_reason) : null;
    this.#finished ||= reason !== null;
    return {
      ...withoutNulls(rest),
      text: text ?? "",
      logprobs: isObject(logprobs) ? logprobs : null,
      finish_reason: reason,
    };
  }

  /** Returns the final piece if the container sent none. @param cut whether the limit was reached */
  end(cut: boolean): TextPiece[] {
    if (this.#finished) return [];
    return [this.piece({ index: this.#index, text: "", finish_reason: cut ? "length" : "stop" })];
  }
}

function reasonOf(reason: string): (typeof FINISH_REASONS)[number] {
  const known = finishReasonOf(reason);
  return FINISH_REASONS.find((one) => one === known) ?? "stop";
}

class TextAssembler {
  readonly #wholes = new Map<number, { texts: string[]; choice: TextPiece }>();

  add({ text, finish_reason, logprobs, ...rest }: TextPiece): void {
    const before = this.#wholes.get(rest.index);
    const texts = before?.texts ?? [];
    texts.push(text);
    const choice = {
      ...before?.choice,
      ...rest,
      text: "",
      finish_reason: finish_reason ?? before?.choice.finish_reason ?? null,
      logprobs: extended(before?.choice.logprobs ?? null, logprobs),
    };
    this.#wholes.set(rest.index, { texts, choice });
  }

  get value(): object[] {
    return [...this.#wholes]
      .sort(([a], [b]) => a - b)
      .map(([, { texts, choice }]) => ({ ...choice, text: texts.join("") }));
  }
}

/** Appends in place: a copy per token would take quadratic time. */
function extended(
  logprobs: TextPiece["logprobs"],
  more: TextPiece["logprobs"],
): TextPiece["logprobs"] {
  if (!logprobs || !more) return more ? structuredClone(more) : logprobs;
  for (const [name, list] of Object.entries(more)) {
    const before = logprobs[name];
    if (Array.isArray(before) && Array.isArray(list)) for (const one of list) before.push(one);
    else logprobs[name] = list;
  }
  return logprobs;
}

/**
 * Translates the body. Some clients send a list even of one prompt or stop sequence, and null for what they
 * leave to the model.
 * @returns undefined for several prompts, or tokens
 */
export function completionInputOf(body: Fields, schema: Keywords): Fields | undefined {
  const resolver = new SchemaResolver(schema);
  const fields = fieldsOf(resolver.resolve(schema).properties);
  const takesList = (name: string) =>
    [resolver.resolve(fields[name]).type].flat().includes("array");
  const given = Object.entries(body).filter(([, value]) => value !== null);
  const single = given.map(([name, value]) => {
    const [only, ...others] = listOf(value);
    const isSingle = SINGLE.includes(name) && only !== undefined && others.length === 0;
    return [name, isSingle && !takesList(name) ? only : value];
  });
  const input: Fields = Object.fromEntries(single);
  return typeof input.prompt === "string" || takesList("prompt") ? input : undefined;
}

const SINGLE = ["prompt", "stop"];
