/**
 * Updates of a conversation by responses, one at a time. An update begins before its response is created, so
 * that no other can come between; nothing waits for its end. When the conversation is used next, it asks
 * whether the response has ended, and adds its items.
 */
import { z } from "zod";
import { responseIdOf } from "../../domain/openai/call.ts";
import { BEGIN_MS, conversationIdIn, itemsOf } from "../../domain/openai/conversation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import type { ConversationUpdate, ItemJson } from "../../objects/conversation/rpc-types.ts";
import type { ConversationStub } from "../../objects/conversation/stub.ts";
import {
  type ResponseItem,
  type ResponseRequest,
  responseItem,
} from "../../protocol/openai/response.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { contextTooLong } from "./context-faults.ts";
import { batchesOf, jsonOf } from "./item-json.ts";
import { granted, nameConversation, readItems } from "./named-conversation.ts";
import { exactLog } from "./parsed-log.ts";
import { findEnded, presentResponse, type StoredResponse } from "./responses.ts";

export interface BegunUpdate {
  /** The items of the conversation before this response. */
  items: ResponseItem[];
  /** Ends the update without items: no response was created. */
  abandon(): Promise<void>;
}

/** @throws OpenAiProblem not_found, conversation_locked */
export async function beginUpdate(
  services: Services,
  caller: Caller,
  conversationId: string,
  predictionId: string,
): Promise<BegunUpdate> {
  const { stub, member } = nameConversation(services, caller, conversationId);
  const update = await granted(services, caller, conversationId, await stub.update(member));
  if (update && !(await settleUpdate(services, caller, stub, update))) throw locked();
  const begin = async (maxBytes: number) =>
    granted(services, caller, conversationId, await stub.begin(member, predictionId, maxBytes));
  const abandon = () => stub.settle(predictionId, [], true);
  const items = await readItems(caller, begin, (begun) => {
    if (begun === "too long") throw contextTooLong("conversation");
    if ("busy" in begun) throw locked();
    return itemsIn(begun.items);
  }).catch(async (error: unknown) => {
    // `abandon` does nothing to the update by another response.
    await abandon();
    throw error;
  });
  return { items, abandon };
}

/** Returns the items in the conversation of a request. @throws OpenAiProblem not_found */
export async function conversationItems(
  services: Services,
  caller: Caller,
  request: Pick<ResponseRequest, "conversation">,
): Promise<ResponseItem[]> {
  const id = conversationIdIn(request);
  if (id === undefined) return [];
  const { stub, member } = nameConversation(services, caller, id);
  const update = await granted(services, caller, id, await stub.update(member));
  if (update) await settleUpdate(services, caller, stub, update);
  const all = async (maxBytes: number) =>
    granted(services, caller, id, await stub.all(member, maxBytes));
  return readItems(caller, all, (said) => {
    if (said === "too long") throw contextTooLong("conversation");
    return itemsIn(said.items);
  });
}

/**
 * Called before the data of a prediction is deleted: if it is a response, its conversation keeps its items.
 */
export async function keepConversationItems(
  services: Services,
  caller: Caller,
  predictionId: string,
): Promise<void> {
  const found = await findEnded(services, caller, responseIdOf(predictionId));
  if (!found || found === "under way") return;
  const id = conversationIdIn(found.request);
  if (id === undefined) return;
  const { stub, member } = nameConversation(services, caller, id);
  const update = await stub.update(member);
  if (update && "prediction_id" in update) await settleUpdate(services, caller, stub, update);
}

/**
 * Adds the items of a response that has ended: none if it failed or was canceled, so that the same can be
 * asked again.
 * @returns false while it is under way
 */
export async function settleUpdate(
  services: Services,
  caller: Caller,
  stub: ConversationStub,
  { prediction_id, given, began_at }: ConversationUpdate,
): Promise<boolean> {
  const found = await findEnded(services, caller, responseIdOf(prediction_id));
  if (found === "under way") return false;
  // The prediction of an update that has just begun may not exist yet.
  if (!found && Date.now() - began_at < BEGIN_MS) return false;
  const batches = batchesOf(found ? itemsOfResponse(found, given) : []);
  for (const [n, items] of batches.entries())
    await stub.settle(prediction_id, items, n === batches.length - 1);
  return true;
}

/**
 * Returns the items that a response adds. Their ids are the same each time: an interrupted call may have
 * added some.
 */
function itemsOfResponse(found: StoredResponse, given: number): ItemJson[] {
  const { status, output } = presentResponse(found);
  const isOver = status === "completed" || status === "incomplete";
  const said = isOver ? [...itemsOf(found.request.input).slice(given), ...output] : [];
  const response = found.id.replace(/^resp_/, "");
  return said.map((item, n) => jsonOf(item, `in_${response}_${given + n}`));
}

/**
 * Parses items with the bounds of one body: together, the bodies of a conversation may have had more values.
 */
const itemsIn = (text: string): ResponseItem[] => z.array(responseItem).parse(exactLog(text));

/** The error of the convention's own service, after which clients try again. */
const locked = () =>
  new OpenAiProblem(400, {
    message:
      "Another response is under way in this conversation. Try again when it has ended, or cancel it.",
    param: "conversation",
    code: "conversation_locked",
  });
