/** Messages: plain and streamed. */

import {
  type MessageHead,
  MessageStream,
  messageIdOf,
  messageOf,
} from "../../domain/anthropic/message-stream.ts";
import { plainMessages } from "../../domain/anthropic/plain-blocks.ts";
import { anthropicErrorEvent, THREAD_NOT_FOUND } from "../../errors/anthropic.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { exactText } from "../../lib/exact-json.ts";
import { fieldsOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { prediction } from "../../protocol/prediction.ts";
import type { Caller } from "../access/access.ts";
import type { EventStream } from "../access/concurrency-limit.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  readerOf,
  timeLimit,
} from "../openai/calls.ts";
import { brokenStream, failureOf, translateOrFail } from "../openai/failure.ts";
import { failureBeforeOutput, readUntilOutput } from "../openai/first-event.ts";
import { withoutUnavailableTools } from "../openai/input-tokens.ts";
import { exactLog, type NumberedEntry } from "../openai/log-reader.ts";
import { orUnfit } from "../openai/model-input.ts";
import { eventText, type Writer, writtenStream } from "../openai/streams.ts";
import type { Services } from "../services.ts";

const PING = eventText(exactText({ type: "ping" }), undefined, "ping");

/** A call whose prediction has been created. */
export interface BegunMessage extends BegunCall {
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
  const message = "Threads are not supported. Send the whole conversation in 'messages'.";
  throw new OpenAiProblem(404, { message, param: "thread", code: THREAD_NOT_FOUND }, false);
}

export function messageAnswer(
  services: Services,
  { request, prediction, outputs }: EndedCall,
): { [name: string]: Json } {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  const head = headOf(prediction.id, request);
  return translateOrFail(() => messageOf(head, outputs, prediction.metrics, prediction.cost));
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

/** Writes the events of a message as text. */
class MessageWriter implements Writer {
  readonly #translation: MessageStream;
  readonly #seconds: number;

  /** @param timeoutSeconds after which the call is canceled */
  constructor(head: MessageHead, timeoutSeconds: number) {
    this.#translation = new MessageStream(head);
    this.#seconds = timeoutSeconds;
  }

  write(entry: NumberedEntry): string {
    const failure =
      entry.event === "done" && failureOf(prediction.parse(entry.data), this.#seconds);
    if (failure) throw failure;
    const events = this.#translation.take(entry);
    const last = events.at(-1);
    return events
      .map((one) => eventText(exactText(one), one === last ? entry.id : undefined, one.type))
      .join("");
  }

  fail(error: unknown): string {
    return anthropicErrorEvent(brokenStream(error));
  }

  /** Returns a heartbeat, also before the message begins: the official clients skip it anywhere. */
  heartbeat(): string {
    return PING;
  }
}
