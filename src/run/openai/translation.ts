/** Translates calls for containers that only support chat completions, and rerank for TEI. */

import * as messagePaths from "../../domain/anthropic/chat-request.ts";
import * as messageRequest from "../../domain/anthropic/chat-request.ts";
import * as responsePaths from "../../domain/openai/chat-request.ts";
import * as responseRequest from "../../domain/openai/chat-request.ts";
import { teiRequestOf } from "../../domain/openai/moderations-rerank.ts";
import { NotSupportedByChat } from "../../domain/openai/strict-chat.ts";
import type { Json } from "../../protocol/common.ts";
import { parseFailure, ServerFailure } from "./error.ts";

type Body = Record<string, Json>;

const TRANSLATIONS = {
  responses: { ...responseRequest, ...responsePaths },
  messages: { ...messageRequest, ...messagePaths },
};
export type TranslatedCall = keyof typeof TRANSLATIONS;

export const isTranslated = (call: string | null): call is TranslatedCall =>
  call !== null && call in TRANSLATIONS;

/** Returns the request as a chat request. @throws ServerFailure for what chat completions cannot express */
export const chatBody = (call: TranslatedCall, input: Body): Body =>
  translated(() => TRANSLATIONS[call].chatRequestOf(input));

/** @throws ServerFailure for what TEI cannot rank */
export const teiBody = (input: Body): Body => translated(() => teiRequestOf(input));

/** @throws ServerFailure for what containers do not support */
export function translated(translate: () => Body): Body {
  try {
    return translate();
  } catch (error) {
    const param = error instanceof NotSupportedByChat ? error.param : null;
    throw parseFailure(
      { message: error instanceof Error ? error.message : String(error), param },
      400,
    );
  }
}

/** Rewords an error about the translated chat request for the caller's original request. */
export function inCallersTerms(
  call: TranslatedCall,
  { status, error }: ServerFailure,
  input: Body,
): ServerFailure {
  const renamePlaces = TRANSLATIONS[call].toCallerPaths(input);
  const { message, param } = error;
  const places = { message: renamePlaces(message), param: param && renamePlaces(param) };
  return new ServerFailure(status, { ...error, ...places });
}
