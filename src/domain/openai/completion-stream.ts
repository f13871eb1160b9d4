/** The stream of a completion. */
import type { CompletionChunk } from "../../protocol/openai/chat.ts";
import type { ChoiceFormat } from "./choice-stream.ts";
import { CompletionChoice, TextAssembler, type TextPiece } from "./completion-choice.ts";
import { completionChunksOf } from "./completion-chunks.ts";

/** The `object` of chunks and of whole answers. */
const OBJECT = "text_completion";

export const COMPLETIONS: ChoiceFormat<CompletionChunk["choices"][number], TextPiece> = {
  whole: OBJECT,
  chunk: OBJECT,
  chunksOf: completionChunksOf,
  begin: (index) => new CompletionChoice(index),
  wholes: () => new TextAssembler(),
};
