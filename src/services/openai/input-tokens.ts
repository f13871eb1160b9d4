/** Counts the tokens of an input, and compacts conversations: the model sums one up in a prediction. */

import { withoutHostedTools, withToolChanges } from "../../domain/anthropic/plain-blocks.ts";
import { countRequestOf, estimatedTokens } from "../../domain/anthropic/token-count.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { responseIdOf } from "../../domain/openai/call.ts";
import { compactionItem, itemsOf, withTask } from "../../domain/openai/conversation.ts";
import { responseOf } from "../../domain/openai/response-stream.ts";
import { NotSupportedByChat } from "../../domain/openai/strict-chat.ts";
import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { type TokenCount, tokenCount } from "../../protocol/anthropic.ts";
import type {
  CompactRequest,
  InputTokens,
  InputTokensRequest,
} from "../../protocol/openai/response.ts";
import { MIN_RETENTION_SECONDS } from "../../protocol/prediction.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  timeLimit,
  unixSeconds,
} from "./calls.ts";
import { withContext } from "./context.ts";
import { conversationItems } from "./conversation-updates.ts";
import { failureOf } from "./failure.ts";

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

/** @throws OpenAiProblem unsupported_parameter for a required tool that the container does not have */
export function withoutUnavailableTools({
  body,
  target: { version },
}: Pick<Call, "body" | "target">): { body: Call["body"]; omittedTools: string[] } {
  const schema = rootKeywords(version.schemas, "input");
  const hosted = withoutHostedTools(withToolChanges(body), schema);
  const { request, omittedTypes: omittedTools, requiredType } = hosted;
  if (requiredType !== undefined) {
    const message = `The container of '${body.model}' has no tool of type '${requiredType}'. Define the tool in 'tools', or omit 'tool_choice'.`;
    throw invalidParameter("tool_choice", "unsupported_parameter", message);
  }
  return { body: { ...request, model: body.model }, omittedTools };
}

/**
 * Whether the model counts tokens itself, which a server does that has messages. For any other model the
 * count is estimated, and nothing is started.
 */
export const countsItself = ({ version: { compatibilities, configuration } }: Call["target"]) =>
  compatibilities.vendorb_messages && interfaceOf(configuration) === "vendora";

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
  const message = "The container did not return a number of tokens.";
  throw new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
}

/** Begins a compaction. Nothing of it is stored: the caller has the summary. @throws as for a response */
export async function beginCompaction(
  services: Services,
  caller: Caller,
  asked: CompactRequest,
  call: Omit<Call, "call" | "body" | "webhook">,
): Promise<BegunCall> {
  const { model, instructions, input, previous_response_id } = asked;
  if (input == null && previous_response_id == null)
    throw new ValidationFailure([issueAt(["body", "input"], fault("missing"))]);
  const context = await withContext(services, caller, { input, previous_response_id }, []);
  const body = {
    model,
    ...(instructions && { instructions }),
    input: withTask(itemsOf(context.input)),
    store: false,
    stream: false,
  };
  return beginCall(services, caller, {
    ...call,
    call: "responses",
    body,
    webhook: null,
    retentionSeconds: MIN_RETENTION_SECONDS,
  });
}

/** @throws OpenAiProblem when the model has failed, or has said nothing */
export function compacted(services: Services, { request, prediction, outputs }: EndedCall): object {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const id = responseIdOf(prediction.id);
  const created_at = unixSeconds(prediction.created_at);
  const head = { id, created_at, model: request.model, request };
  const { output, usage, error } = responseOf(head, { ...prediction, output: outputs });
  const summary = output
    .filter(({ type }) => type === "message")
    .flatMap(({ content }) => listOf(content))
    .map((part) => textOf(fieldsOf(part).text))
    .join("")
    .trim();
  if (summary === "") {
    const message = textOf(error?.message) || "The model did not write a summary.";
    throw new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
  }
  const item = compactionItem(id.replace(/^resp_/, "cmp_"), summary);
  return { id, object: "response.compaction", created_at, output: [item], usage };
}
