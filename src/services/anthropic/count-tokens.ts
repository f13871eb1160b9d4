/** Counts the tokens of a request. */
import { estimatedTokens } from "../../domain/anthropic/token-count.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { type TokenCount, tokenCount } from "../../protocol/anthropic.ts";
import { MIN_RETENTION_SECONDS } from "../../protocol/prediction.ts";
import type { Caller } from "../accounts/caller.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  timeLimit,
} from "../openai/calls.ts";
import { failureOf } from "../openai/failure.ts";
import type { Services } from "../services.ts";
import { withoutUnavailableTools } from "./messages.ts";

/**
 * Whether the model counts tokens itself, which a server does that has messages. For any other model the
 * count is estimated, and nothing is started.
 */
export const countsItself = ({ version: { compatibilities, configuration } }: Call["target"]) =>
  compatibilities.vendorb_messages && configuration.interface === "vendora";

/** @throws OpenAiProblem, as beginMessage */
export const beginCount = (services: Services, caller: Caller, call: Call): Promise<BegunCall> =>
  beginCall(services, caller, {
    ...call,
    body: withoutUnavailableTools(call).body,
    retentionSeconds: MIN_RETENTION_SECONDS,
  });

export const estimatedCount = (body: Call["body"]): TokenCount => ({
  input_tokens: estimatedTokens(body),
});

export function countAnswer(services: Services, { prediction, outputs }: EndedCall): TokenCount {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const count = tokenCount.safeParse(outputs[0]).data;
  if (count) return count;
  const message = "The container did not answer with a number of tokens.";
  throw new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
}
