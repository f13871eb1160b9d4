/** Counts the tokens of a response's input. */

import { countRequestOf, estimatedTokens } from "../../domain/anthropic/token-count.ts";
import { itemsOf } from "../../domain/openai/conversation.ts";
import { NotSupportedByChat } from "../../domain/openai/strict-chat.ts";
import type { InputTokens, InputTokensRequest } from "../../protocol/openai/response.ts";
import type { Caller } from "../accounts/caller.ts";
import { beginCount, countsItself } from "../anthropic/count-tokens.ts";
import type { Services } from "../services.ts";
import type { BegunCall, Call } from "./calls.ts";
import { withContext } from "./context.ts";
import { conversationItems } from "./conversation-updates.ts";

/** Returns the input together with the earlier items. @throws OpenAiProblem as for a response */
export const withInput = async (services: Services, caller: Caller, asked: InputTokensRequest) =>
  withContext(services, caller, asked, await conversationItems(services, caller, asked));

export const counted = (input_tokens: number): InputTokens => ({
  object: "response.input_tokens",
  input_tokens,
});

export const estimatedInput = ({ instructions, input, tools }: InputTokensRequest): InputTokens =>
  counted(estimatedTokens({ system: instructions, messages: itemsOf(input), tools }));

/** @returns undefined for a model that cannot count */
export async function beginInputCount(
  services: Services,
  caller: Caller,
  request: InputTokensRequest,
  call: Omit<Call, "call" | "body" | "target" | "webhook"> & { target: Call["target"] | undefined },
): Promise<BegunCall | undefined> {
  const { target } = call;
  if (!target || !countsItself(target) || request.model == null) return undefined;
  const body = messageIn(request.model, request);
  if (!body) return undefined;
  return beginCount(services, caller, {
    ...call,
    call: "count_tokens",
    target,
    body,
    webhook: null,
  });
}

function messageIn(model: string, request: InputTokensRequest) {
  try {
    return countRequestOf(model, request);
  } catch (error) {
    if (error instanceof NotSupportedByChat) return undefined;
    throw error;
  }
}
