/** The context that a model is given: the earlier items of its conversation, and the new input. */

import { responseIdIn } from "../../domain/openai/call.ts";
import {
  conversation,
  duplicateId,
  itemsOf,
  listedItems,
  MAX_BYTES,
  withSummaries,
} from "../../domain/openai/conversation.ts";
import { jsonText } from "../../domain/schemas/validation.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import {
  MAX_ITEMS,
  type ResponseItem,
  type ResponseRequest,
} from "../../protocol/openai/response.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { findResponse, presentResponse } from "./responses.ts";
import type { SocketContext } from "./socket-context.ts";

/** The responses that references may name: each is read as a whole. */
const MAX_RESPONSES = 100;

type Asked = Pick<ResponseRequest, "input" | "previous_response_id" | "conversation">;

/**
 * Adds the earlier items to the input. Containers have no state: they get the whole conversation.
 * @param said the items of the conversation that the request names
 * @param socket the socket that the request came over
 * @throws OpenAiProblem previous_response_not_found, item_not_found, duplicate_item, context_length_exceeded
 */
export async function withContext<Request extends Asked>(
  services: Services,
  caller: Caller,
  asked: Request,
  said: ResponseItem[],
  socket?: SocketContext,
): Promise<Request> {
  const { previous_response_id: id, conversation: named, input } = asked;
  const own = await withoutReferences(services, caller, itemsOf(input));
  const before =
    id == null ? said : (socket?.find(id) ?? (await previousItems(services, caller, id)));
  const items = withSummaries([...before, ...own]);
  if (id != null) checkResults(items);
  const duplicate = named == null ? undefined : duplicateId(items);
  if (duplicate !== undefined) throw duplicateItem("input", duplicate);
  const { length } = jsonText(items, ["body", "input"]);
  if (items.length > MAX_ITEMS || length > MAX_BYTES) throw contextTooLong("input");
  // A plain string without earlier items is passed on unchanged.
  return before.length === 0 && typeof input === "string" ? asked : { ...asked, input: items };
}

/**
 * Refuses a result without its call: it is a mistake of the client, and chat templates refuse it in words of
 * their own.
 */
function checkResults(items: ResponseItem[]): void {
  const calls = new Set(items.filter(({ type }) => type !== RESULT).map(({ call_id }) => call_id));
  const orphan = items.find(({ type, call_id }) => type === RESULT && !calls.has(call_id));
  if (!orphan) return;
  const message = `No tool call found for function call output with call_id '${String(orphan.call_id).slice(0, 100)}'.`;
  throw invalidParameter("input", "invalid_value", message);
}

const RESULT = "function_call_output";

/** Returns the input and output of an earlier response: output items are valid as input. */
async function previousItems(
  services: Services,
  caller: Caller,
  id: string,
): Promise<ResponseItem[]> {
  const param = "previous_response_id";
  const previous = await findResponse(services, caller, id).catch((error: unknown) => {
    if (!(error instanceof OpenAiProblem)) throw error;
    const message = `Previous response with id '${id}' not found.`;
    throw invalidParameter(param, "previous_response_not_found", message);
  });
  const { status, output } = presentResponse(previous);
  if (status === "completed" || status === "incomplete") {
    return conversation(itemsOf(previous.request.input), output, []);
  }
  const message = `Previous response '${id}' has not been completed: it is ${status}.`;
  throw invalidParameter(param, "invalid_value", message);
}

export const duplicateItem = (param: string, id: string) =>
  invalidParameter(
    param,
    "duplicate_item",
    `Duplicate item found with id '${id}'. Omit items that are already in the conversation.`,
  );

/** @param param the parameter that makes the context too long */
export const contextTooLong = (param: string) =>
  invalidParameter(
    param,
    "context_length_exceeded",
    `The conversation is too long. It can have at most ${MAX_ITEMS} items and ${MAX_BYTES} characters. Compact it with POST /openai/v1/responses/compact, or delete items.`,
  );

/**
 * Replaces references by their items. Of each response, only the referenced items are kept.
 * @throws OpenAiProblem item_not_found, context_length_exceeded
 */
export async function withoutReferences(
  services: Services,
  caller: Caller,
  items: ResponseItem[],
): Promise<ResponseItem[]> {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const id = referenceIn(item);
    if (id !== undefined && !places.has(id)) places.set(id, place);
  }
  const bySource = Map.groupBy(places.keys(), responseIdIn);
  if (bySource.size > MAX_RESPONSES) {
    const message = `The input references items of ${bySource.size} responses; at most ${MAX_RESPONSES} are allowed. Send the items themselves.`;
    throw invalidParameter("input", "invalid_value", message);
  }
  const known = new Map<string, ResponseItem>();
  let length = 0;
  for (const [source, ids] of bySource) {
    const found = source === undefined ? [] : await itemsIn(services, caller, source);
    for (const item of found) {
      const id = String(item.id);
      if (!places.has(id)) continue;
      // The length is checked before the next response is read: a hundred of them would not fit into memory.
      length += JSON.stringify(item).length;
      if (length > MAX_BYTES) throw contextTooLong("input");
      known.set(id, item);
    }
    // The search for a response that does not exist takes longer than reading one, so the first missing one
    // ends the request.
    const missing = ids.find((id) => !known.has(id));
    if (missing !== undefined) throw notFound(missing, places.get(missing));
  }
  return items.map((item) => known.get(referenceIn(item) ?? "") ?? item);
}

const notFound = (id: string, place: number | undefined) =>
  invalidParameter(
    `input[${place}]`,
    "item_not_found",
    `Item with id '${id.slice(0, 100)}' not found. Send the item itself.`,
  );

/** Returns the id of a reference. The type is optional: an item with nothing but an id is a reference. */
function referenceIn({ type, id, ...rest }: ResponseItem): string | undefined {
  const bare = type == null && Object.keys(rest).length === 0;
  return typeof id === "string" && (type === "item_reference" || bare) ? id : undefined;
}

/** Returns all input and output items; none when the response does not exist or is another user's. */
async function itemsIn(services: Services, caller: Caller, id: string): Promise<ResponseItem[]> {
  try {
    const response = await findResponse(services, caller, id);
    const asked = listedItems(itemsOf(response.request.input), id);
    return [...asked, ...presentResponse(response).output];
  } catch (error) {
    if (error instanceof OpenAiProblem) return [];
    throw error;
  }
}
