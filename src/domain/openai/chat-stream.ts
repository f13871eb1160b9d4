/** The stream of a chat completion. */
import type { ChatChunk } from "../../protocol/openai/chat.ts";
import { ChatChoice, type StreamedChoice } from "./chat-choice.ts";
import { chunksOf } from "./chat-chunks.ts";
import { ChoiceAssembler } from "./choice-assembler.ts";
import { type ChoiceFormat, ChoiceStream, type HeadOptions } from "./choice-stream.ts";

type Choice = ChatChunk["choices"][number];

export const CHATS: ChoiceFormat<Choice, StreamedChoice> = {
  whole: "chat.completion",
  chunk: "chat.completion.chunk",
  chunksOf,
  begin: (index, callPrefix) => new ChatChoice(index, callPrefix),
  wholes: () => new ChoiceAssembler(),
};

export class ChatStream extends ChoiceStream<Choice, StreamedChoice> {
  constructor(options: HeadOptions & { includeUsage: boolean }) {
    super(CHATS, options);
  }
}
