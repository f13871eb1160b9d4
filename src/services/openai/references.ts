/** Resolves references to items of earlier responses, because containers have no state. */

import { responseIdIn } from "../../domain/openai/call.ts";
import { itemsOf, listedItems, MAX_BYTES } from "../../domain/openai/conversation.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import type { ResponseItem } from "../../protocol/openai/response.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { contextTooLong } from "./context-faults.ts";
import { findResponse, presentResponse } from "./responses.ts";

/** The responses that references may name: each is read as a whole. */
const MAX_RESPONSES = 100;

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
