/** Creating responses: their conversation so far, and the three ways to wait for one. */

import { fault, issueAt, jsonText, ValidationFailure } from "../../domain/schemas/validation.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { withoutHostedTools } from "../../domain/vendora/hosted-tools.ts";
import { responseIdOf } from "../../domain/vendora/ids.ts";
import { conversation, itemsOf } from "../../domain/vendora/response-items.ts";
import { responseOf } from "../../domain/vendora/response-stream.ts";
import { invalidParameter, VendoraProblem } from "../../errors-vendora.ts";
import { MIN_RETENTION_SECONDS } from "../../protocol/prediction.ts";
import {
  MAX_ITEMS,
  type ResponseItem,
  type ResponseRequest,
} from "../../protocol/vendora/response.ts";
import type { Caller } from "../accounts/caller.ts";
import { type CreatedPrediction, gone, snapshotOf } from "../predictions/creation.ts";
import type { EventStream } from "../predictions/event-stream.ts";
import type { Services } from "../services.ts";
import { beginCall, type Call, contentOf, readerOf, timeLimit, waitForCall } from "./calls.ts";
import { failureOf } from "./failure.ts";
import { failureBeforeOutput, readUntilOutput } from "./first-event.ts";
import { withoutReferences } from "./references.ts";
import { ResponseWriter } from "./response-writer.ts";
import { findResponse, headOf, presentResponse } from "./responses.ts";
import { writtenStream } from "./streams.ts";

/** A response whose prediction has been created. */
export interface BegunResponse extends CreatedPrediction {
  /** Without its input. */
  request: ResponseRequest;
  /** The types of hosted tools that the model was not given because its container has none. */
  leftOut: string[];
}

/** Characters of JSON: as much as a single request may have. */
const MAX_CONVERSATION = 10_000_000;

/** Fields of the convention that need state which Auspex does not store. */
const UNSUPPORTED_FIELDS = ["conversation", "prompt"];

/**
 * @throws ValidationFailure, VendoraProblem unsupported_parameter, previous_response_not_found
 * and those of createPrediction
 */
export async function beginResponse(
  services: Services,
  caller: Caller,
  asked: ResponseRequest,
  call: Pick<Call, "target" | "origin" | "idempotencyKey" | "webhook" | "sent" | "onInputSent">,
): Promise<BegunResponse> {
  checkResponse(asked);
  const { request: own, omittedTools } = withoutUnavailableTools(asked, call.target);
  const request = await withPrevious(services, caller, own);
  const { input, ...rest } = request;
  const created = await beginCall(services, caller, {
    ...call,
    call: "responses",
    body: request,
    background: request.background === true,
    ...(request.store === false && { retentionSeconds: MIN_RETENTION_SECONDS }),
  });
  return { ...created, request: rest, leftOut: omittedTools };
}

function checkResponse(asked: ResponseRequest): void {
  const { input, previous_response_id, background, store } = asked;
  if (input == null && previous_response_id == null) {
    throw new ValidationFailure([issueAt(["body", "input"], fault("missing"))]);
  }
  for (const name of UNSUPPORTED_FIELDS) {
    if (asked[name] == null) continue;
    const message = `'${name}' is not supported: send the text in 'input', or use a 'previous_response_id'.`;
    throw invalidParameter(name, "unsupported_parameter", message);
  }
  if (background === true && store === false) {
    const message = "A response in the background is stored: leave 'store' out, or set it to true.";
    throw invalidParameter("store", "invalid_value", message);
  }
}

/** @throws VendoraProblem unsupported_parameter for a required tool that the container does not have */
function withoutUnavailableTools(asked: ResponseRequest, { version }: Call["target"]) {
  const hosted = withoutHostedTools(asked, rootKeywords(version.schemas, "input"));
  const { request, omittedTypes: omittedTools, requiredType } = hosted;
  if (requiredType === undefined) return { request: { ...asked, ...request }, omittedTools };
  const message = `The container of '${asked.model}' has no tool of type '${requiredType.slice(0, 100)}': send one of your own, or leave 'tool_choice' to the model.`;
  throw invalidParameter("tool_choice", "unsupported_parameter", message);
}

/** The whole conversation as input: containers have no state. */
async function withPrevious(
  services: Services,
  caller: Caller,
  asked: ResponseRequest,
): Promise<ResponseRequest> {
  const { previous_response_id: id, input } = asked;
  const own = await withoutReferences(services, caller, itemsOf(input));
  const items =
    id == null ? own : conversation(...(await previousItems(services, caller, id)), own);
  if (items.length > MAX_ITEMS || jsonText(items, ["body", "input"]).length > MAX_CONVERSATION) {
    const message = `The conversation is too long: it may have ${MAX_ITEMS} items and ${MAX_CONVERSATION} characters.`;
    throw invalidParameter("input", "context_length_exceeded", message);
  }
  // A plain string without earlier items is passed on unchanged.
  return id == null && typeof input === "string" ? asked : { ...asked, input: items };
}

/** The input and output of an earlier response: output items are valid as input. */
async function previousItems(
  services: Services,
  caller: Caller,
  id: string,
): Promise<[input: ResponseItem[], output: ResponseItem[]]> {
  const param = "previous_response_id";
  const previous = await findResponse(services, caller, id).catch((error: unknown) => {
    if (!(error instanceof VendoraProblem)) throw error;
    const message = `Previous response with id '${id}' not found.`;
    throw invalidParameter(param, "previous_response_not_found", message);
  });
  const { status, output } = presentResponse(previous);
  if (status === "completed" || status === "incomplete") {
    return [itemsOf(previous.request.input), output];
  }
  const message = `Previous response '${id}' has not been completed: it is ${status}.`;
  throw invalidParameter(param, "invalid_value", message);
}

const headFor = ({ id, created_at, request }: BegunResponse) =>
  headOf(responseIdOf(id), created_at, request);

/** The resource at its beginning. */
export async function begunResponse(services: Services, begun: BegunResponse): Promise<object> {
  const prediction = await contentOf(services, begun.stub, await snapshotOf(begun));
  if (!prediction) throw gone(begun);
  return presentResponse({ id: headFor(begun).id, prediction, request: begun.request });
}

/**
 * The resource at its end. A failed response is returned too, unless the request caused the failure.
 * @throws VendoraProblem for a request that the container refuses; timeout
 */
export async function endedResponse(services: Services, begun: BegunResponse): Promise<object> {
  const { prediction, outputs } = await waitForCall(services, begun);
  const failure = requestFailure(failureOf(prediction, timeLimit(services, "plain")));
  if (failure) throw failure;
  return responseOf(headFor(begun), { ...prediction, output: outputs });
}

/**
 * Its events. Leaving them cancels it, unless it is in the background.
 * @throws VendoraProblem when it fails before its first output
 */
export async function responseStream(
  services: Services,
  begun: BegunResponse,
): Promise<EventStream> {
  const seconds = timeLimit(services, "stream");
  const background = begun.request.background === true;
  const reader = readerOf(services, begun, background ? undefined : seconds);
  const writer = new ResponseWriter(headFor(begun), seconds);
  // A background response can be read later, even if it fails.
  const held = background ? [] : await readUntilOutput(reader);
  const failure = requestFailure(failureBeforeOutput(held, seconds));
  if (failure) throw failure;
  return writtenStream(reader, writer, held);
}

/** A failure that is caused by the request: there is no response resource then. */
const requestFailure = (failure: VendoraProblem | undefined): VendoraProblem | undefined =>
  failure?.status === 500 || failure?.status === 502 ? undefined : failure;
