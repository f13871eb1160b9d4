/** Compacts a conversation: the model itself sums it up, in a prediction, and the summary replaces it. */

import { responseIdOf } from "../../domain/openai/call.ts";
import { compactionItem, itemsOf, withTask } from "../../domain/openai/conversation.ts";
import { responseOf } from "../../domain/openai/response-stream.ts";
import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import type { CompactRequest } from "../../protocol/openai/response.ts";
import { MIN_RETENTION_SECONDS } from "../../protocol/prediction.ts";
import type { Caller } from "../access/caller.ts";
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
import { failureOf } from "./failure.ts";

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
