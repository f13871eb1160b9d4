/** A whole chat completion, assembled from its stream. */
import type { Json } from "../../protocol/common.ts";
import type { Metrics } from "../../protocol/event.ts";
import { CHATS } from "./chat-stream.ts";
import { type HeadOptions, wholeOf } from "./choice-stream.ts";

/** @throws TranslationFailed */
export const completionOf = (
  options: HeadOptions,
  outputs: Json[],
  metrics: Metrics | null,
): object => wholeOf(CHATS, options, outputs, metrics);
