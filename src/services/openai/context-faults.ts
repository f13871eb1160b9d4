/**
 * The errors for a context that cannot be given to a model: the earlier items together with the new input.
 */
import { MAX_BYTES } from "../../domain/openai/conversation.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { MAX_ITEMS } from "../../protocol/openai/response.ts";

export const duplicateItem = (param: string, id: string) =>
  invalidParameter(
    param,
    "duplicate_item",
    `Duplicate item found with id '${id}'. Leave out what the conversation has already.`,
  );

/** @param param the parameter that makes the context too long */
export const contextTooLong = (param: string) =>
  invalidParameter(
    param,
    "context_length_exceeded",
    `The conversation is too long: it may have ${MAX_ITEMS} items and ${MAX_BYTES} characters. Compact it with POST /v1/vendora/responses/compact, or delete items.`,
  );
