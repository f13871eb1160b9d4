/** The context that a model is given: the earlier items of its conversation, and the new input. */

import {
  conversation,
  duplicateId,
  itemsOf,
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
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { contextTooLong, duplicateItem } from "./context-faults.ts";
import { withoutReferences } from "./references.ts";
import { findResponse, presentResponse } from "./responses.ts";
import type { SocketContext } from "./socket-context.ts";

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
