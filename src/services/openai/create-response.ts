/** Creating responses: their conversation so far, and the three ways to wait for one. */

import { responseIdOf } from "../../domain/openai/call.ts";
import { conversationIdIn, itemsOf } from "../../domain/openai/conversation.ts";
import { plainItems, withLoadedTools } from "../../domain/openai/plain-items.ts";
import { preparedEvents, responseOf } from "../../domain/openai/response-stream.ts";
import { withoutHostedTools } from "../../domain/openai/tools.ts";
import { newPredictionUuid } from "../../domain/predictions/prediction-id.ts";
import { fault, issueAt, ValidationFailure } from "../../domain/schemas/validation.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { invalidParameter, type OpenAiProblem } from "../../errors/openai.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { type JsonSource, textFrom } from "../../lib/json-text.ts";
import { json } from "../../protocol/common.ts";
import { type ResponseRequest, responseRequest } from "../../protocol/openai/response.ts";
import { MIN_RETENTION_SECONDS } from "../../protocol/prediction.ts";
import type { Caller } from "../access/access.ts";
import { type EventStream, tooManyConnections } from "../access/concurrency-limit.ts";
import { gone, snapshotOf } from "../predictions/create-object.ts";
import type { Services } from "../services.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  contentOf,
  type EndedCall,
  readerOf,
  timeLimit,
} from "./calls.ts";
import { withContext } from "./context.ts";
import { type BegunUpdate, beginUpdate } from "./conversation-updates.ts";
import { failureOf } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import { holdText } from "./held-texts.ts";
import { exactLog } from "./log-reader.ts";
import { orUnfit } from "./model-input.ts";
import { headOf, presentResponse, ResponseWriter } from "./responses.ts";
import type { SocketContext } from "./socket-context.ts";
import { eventText, writtenStream } from "./streams.ts";

/** A response whose prediction has been created. */
export interface BegunResponse extends Omit<BegunCall, "request"> {
  /** The request without its input. It is held until the response is answered. */
  request: ResponseRequest;
  /** Called once the response is answered: its request is not held any more. */
  leave: () => void;
  /** The types of hosted tools that the model was not given because its container has none. */
  omittedTools: string[];
  /** The types of items that the model was not given. */
  omittedContent: string[];
}

/**
 * @throws ValidationFailure, OpenAiProblem unsupported_parameter, previous_response_not_found
 * and those of createPrediction
 */
export async function beginResponse(
  services: Services,
  caller: Caller,
  asked: ResponseRequest,
  {
    socket,
    ...call
  }: Omit<Call, "call" | "body" | "id" | "background" | "retentionSeconds"> & {
    /** The socket that the request came over. */
    socket?: SocketContext | undefined;
  },
): Promise<BegunResponse> {
  checkResponse(asked, call.idempotencyKey);
  const id = call.sent?.prediction_id ?? newPredictionUuid();
  const update = await updateOf(services, caller, asked, id);
  const begin = async (): Promise<BegunResponse> => {
    const whole = await withContext(services, caller, asked, update?.items ?? [], socket);
    const { request, omittedTools, omittedContent } = adapted(whole, call.target);
    const { input, ...rest } = exactRequest(request, call.source);
    if (request.store === false) socket?.begin(responseIdOf(id), itemsOf(input));
    const leave = holdRequest(caller, rest);
    // The items of a response in a conversation are added when the conversation is used next.
    const isForNobody = request.store === false && !update;
    const created = await beginCall(services, caller, {
      ...call,
      call: "responses",
      body: request,
      id,
      background: request.background === true,
      ...(isForNobody && { retentionSeconds: MIN_RETENTION_SECONDS }),
    }).catch((error: unknown) => {
      leave();
      throw error;
    });
    return { ...created, request: rest, leave, omittedTools, omittedContent };
  };
  return begin().catch(async (error: unknown) => {
    await update?.abandon();
    throw error;
  });
}

/**
 * Returns the request with the digits and the order of names with which it was sent: the response repeats
 * much of it.
 */
function exactRequest({ input, ...rest }: ResponseRequest, source: JsonSource | undefined) {
  const exact = parseExact(textFrom(json.parse(rest), source));
  return { ...responseRequest.parse(exact), input };
}

/** The characters of a request that are not counted: many calls may wait with as many. More are counted. */
const FREE_CHARS = 32 * 1024;

/**
 * Holds the request: a response shows its instructions and tools at its end.
 * @throws ProblemError too_many_requests when others hold as much as there is room for
 */
function holdRequest({ user_id }: Caller, request: ResponseRequest): () => void {
  const { length } = JSON.stringify(request);
  if (length <= FREE_CHARS) return () => {};
  const leave = holdText(user_id, length);
  if (leave) return leave;
  throw tooManyConnections(
    "Too many responses with long instructions or tools are in progress. Send long texts in 'input', or wait for one to end.",
  );
}

/** Begins the response's update of its conversation, if it is in one. */
async function updateOf(
  services: Services,
  caller: Caller,
  request: ResponseRequest,
  id: string,
): Promise<BegunUpdate | undefined> {
  const conversationId = conversationIdIn(request);
  if (conversationId === undefined) return undefined;
  return beginUpdate(services, caller, conversationId, id);
}

function checkResponse(asked: ResponseRequest, idempotencyKey: string | undefined): void {
  const { input, previous_response_id, conversation, prompt, background, store } = asked;
  if (prompt != null) {
    const message =
      "Stored prompts are not supported. Send the prompt text in 'instructions' and its variables in 'input'.";
    throw invalidParameter("prompt", "unsupported_parameter", message);
  }
  if (input == null && previous_response_id == null && conversation == null) {
    throw new ValidationFailure([issueAt(["body", "input"], fault("missing"))]);
  }
  if (conversation != null && previous_response_id != null) {
    const message = "Send either 'conversation' or 'previous_response_id', not both.";
    throw invalidParameter("previous_response_id", "mutually_exclusive_parameters", message);
  }
  if (conversation != null && idempotencyKey !== undefined) {
    const message =
      "'Idempotency-Key' is not supported with 'conversation'. A conversation already runs one response at a time.";
    throw invalidParameter("conversation", "unsupported_parameter", message);
  }
  if (background === true && store === false) {
    const message = "Background responses are always stored. Omit 'store', or set it to true.";
    throw invalidParameter("store", "invalid_value", message);
  }
}

/**
 * Returns the request with the tools that the model can have.
 * @throws OpenAiProblem unsupported_parameter for a required tool or an item that it cannot have
 */
function adapted(asked: ResponseRequest, target: Call["target"]) {
  const { request, omittedTools } = withoutUnavailableTools(withLoadedTools(asked), target);
  const { omittedTypes: omittedContent } = orUnfit(() => plainItems(request));
  return { request, omittedTools, omittedContent };
}

function withoutUnavailableTools(asked: ResponseRequest, { version }: Call["target"]) {
  const hosted = withoutHostedTools(asked, rootKeywords(version.schemas, "input"));
  const { request, omittedTypes: omittedTools, requiredType } = hosted;
  if (requiredType === undefined) return { request: { ...asked, ...request }, omittedTools };
  const message = `The container of '${asked.model}' has no tool of type '${requiredType.slice(0, 100)}'. Define the tool in 'tools', or omit 'tool_choice'.`;
  throw invalidParameter("tool_choice", "unsupported_parameter", message);
}

/**
 * Returns the events of a response that is only prepared: the model does not run, and the next response on
 * the same socket continues it.
 * @throws as beginResponse
 */
export async function preparedResponse(
  services: Services,
  caller: Caller,
  asked: ResponseRequest,
  { target, socket }: { target: Call["target"]; socket: SocketContext | undefined },
): Promise<ReadableStream<Uint8Array>> {
  if (!socket) {
    const message = "'generate' can only be false in a message over a WebSocket.";
    throw invalidParameter("generate", "unsupported_parameter", message);
  }
  checkResponse(asked, undefined);
  const { request } = adapted(await withContext(services, caller, asked, [], socket), target);
  const head = headOf(responseIdOf(newPredictionUuid()), Date.now(), request);
  socket.begin(head.id, itemsOf(request.input));
  const events = preparedEvents(head).map((event) =>
    eventText(exactText(event), undefined, event.type),
  );
  return new Blob(events).stream();
}

const headFor = ({ id, created_at, request }: BegunResponse) =>
  headOf(responseIdOf(id), created_at, request);

/** Returns the resource at its beginning. */
export async function begunResponse(services: Services, begun: BegunResponse): Promise<object> {
  try {
    const prediction = await contentOf(services, begun.stub, await snapshotOf(begun));
    if (!prediction) throw gone(begun);
    return presentResponse({ id: headFor(begun).id, prediction, request: begun.request });
  } finally {
    begun.leave();
  }
}

/**
 * Returns the resource at its end. A failed response is returned too, unless the request caused the failure.
 * @throws OpenAiProblem for a request that the container refuses; timeout
 */
export async function endedResponse(
  services: Services,
  begun: BegunResponse,
  ended: Promise<EndedCall>,
): Promise<object> {
  try {
    const { prediction, outputs } = await ended;
    const failure = requestFailure(failureOf(prediction, timeLimit(services, "plain")));
    if (failure) throw failure;
    return responseOf(headFor(begun), { ...prediction, output: outputs });
  } finally {
    begun.leave();
  }
}

/**
 * Returns the events of a response. Leaving them cancels it, unless it is in the background.
 * @throws OpenAiProblem when it fails before its first output
 */
export async function responseStream(
  services: Services,
  begun: BegunResponse,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const background = begun.request.background === true;
  const reader = readerOf(services, begun, background ? undefined : seconds, exactLog);
  const writer = new ResponseWriter(headFor(begun), seconds);
  try {
    // A background response can be read later, even if it fails.
    const held = background ? [] : await readUntilOutput(reader);
    const failure = requestFailure(failureBeforeOutput(held, seconds));
    if (failure) throw failure;
    const stream = writtenStream(reader, writer, held);
    void stream.over.then(begun.leave);
    return stream;
  } catch (error) {
    begun.leave();
    throw error;
  }
}

/** Returns a failure that the request caused: there is no response resource then. */
const requestFailure = (failure: OpenAiProblem | undefined): OpenAiProblem | undefined =>
  failure?.status === 500 || failure?.status === 502 ? undefined : failure;
