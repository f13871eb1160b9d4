/** A chat completion in one piece: its stream, put together. */
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import { type ChatAsked, ChatStream } from "./chat-stream.ts";
import { WholeChoices } from "./chat-whole.ts";

/**
 * The answer of a prediction that has succeeded, from all that it has put out: pieces, whole
 * completions, or nothing, which is an empty message. Throws Untranslatable.
 */
export function completionOf(asked: ChatAsked, outputs: Json[], metrics: Metrics | null): object {
  const stream = new ChatStream({ ...asked, includeUsage: true });
  const wholes = new WholeChoices();
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
