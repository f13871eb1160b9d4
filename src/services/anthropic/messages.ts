/** Messages: plain and streamed. */

import { type MessageHead, messageIdOf, messageOf } from "../../domain/anthropic/message-stream.ts";
import {
  plainMessages,
  withoutHostedTools,
  withToolChanges,
} from "../../domain/anthropic/plain-blocks.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { THREAD_NOT_FOUND } from "../../errors/anthropic.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { Caller } from "../accounts/caller.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  readerOf,
  timeLimit,
} from "../openai/calls.ts";
import { failureOf, translateOrFail } from "../openai/failure.ts";
import { failureBeforeOutput, readUntilOutput } from "../openai/first-event.ts";
import { orUnfit } from "../openai/model-input.ts";
import { exactLog } from "../openai/parsed-log.ts";
import { writtenStream } from "../openai/streams.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";
import { MessageWriter } from "./message-writer.ts";

/** A call whose prediction has been created. */
export interface BegunMessage extends BegunCall {
  /** The types of tools that the model was not given because its container has none. */
  omittedTools: string[];
  /** The types of blocks that the model was not given. */
  omittedContent: string[];
}

/**
 * @throws OpenAiProblem unsupported_parameter, and as createPrediction
 */
export async function beginMessage(
  services: Services,
  caller: Caller,
  call: Call,
): Promise<BegunMessage> {
  checkThread(call);
  const { body, omittedTools } = withoutUnavailableTools(call);
  const { omittedTypes: omittedContent } = orUnfit(() => plainMessages(fieldsOf(body)));
  const begun = await beginCall(services, caller, { ...call, body });
  // Only these fields of the request are kept: system prompt and tools of agents are large, and the call
  // still waits.
  const { model, max_tokens = null, stop_sequences = null } = begun.request;
  const request = { model, max_tokens, stop_sequences };
  return { ...begun, request, omittedTools, omittedContent };
}

/** Refuses a request that continues a thread: it has only the new items, and no threads are stored. */
function checkThread({ body }: Call): void {
  if (fieldsOf(body.thread).type !== "continue") return;
  const message = "Threads are not stored: send the whole conversation in 'messages'.";
  throw new OpenAiProblem(404, { message, param: "thread", code: THREAD_NOT_FOUND }, false);
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
    const message = `The container of '${body.model}' has no tool of type '${requiredType}': send one of your own, or leave 'tool_choice' to the model.`;
    throw invalidParameter("tool_choice", "unsupported_parameter", message);
  }
  return { body: { ...request, model: body.model }, omittedTools };
}

export function messageAnswer(
  services: Services,
  { request, prediction, outputs }: EndedCall,
): { [name: string]: Json } {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const head = headOf(prediction.id, request);
  return translateOrFail(() => messageOf(head, outputs, prediction.metrics));
}

/**
 * Returns the stream of a message. Leaving it cancels the prediction.
 * @throws OpenAiProblem when it fails before its first output
 */
export async function messageStream(services: Services, begun: BegunMessage): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const reader = readerOf(services, begun, seconds, exactLog);
  const held = await readUntilOutput(reader);
  const failure = failureBeforeOutput(held, seconds);
  if (failure) throw failure;
  const writer = new MessageWriter(headOf(begun.id, begun.request), seconds);
  return writtenStream(reader, writer, held);
}

const headOf = (predictionId: string, { stream: _, ...request }: Call["body"]): MessageHead => ({
  id: messageIdOf(predictionId),
  request,
});
