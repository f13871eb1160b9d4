/** A whole chat completion, assembled from its stream. */
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import { type ChatOptions, ChatStream } from "./chat-stream.ts";
import { ChoiceAssembler } from "./choice-assembler.ts";

/**
 * The completion of a succeeded prediction, from its outputs: pieces, whole completions, or nothing,
 * which is an empty message.
 * @throws TranslationFailed
 */
export function completionOf(
  options: ChatOptions,
  outputs: Json[],
  metrics: Metrics | null,
): object {
  const stream = new ChatStream({ ...options, includeUsage: true });
  const wholes = new ChoiceAssembler();
  let answer = {};
  const add = (event: string, data: Json) => {
    for (const { choices, ...rest } of stream.take({ event, data })) {
      answer = { ...answer, ...rest };
      for (const piece of choices) wholes.add(piece);
    }
  };
  for (const output of outputs) add("output", output);
  add("done", { status: "succeeded", metrics });
  return { ...answer, object: "chat.completion", choices: wholes.value };
}
