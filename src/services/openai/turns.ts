/**
 * Responses in a conversation, one at a time. A response takes its turn before it is created, so that no
 * other can come between; nothing waits for its end. When the conversation is used next, it asks whether the
 * response has ended, and adds its items.
 */
import { z } from "zod";
import { responseIdOf } from "../../domain/openai/call.ts";
import { BEGIN_MS, conversationIdIn, itemsOf } from "../../domain/openai/conversation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import type { ItemJson, Turn } from "../../objects/conversation/rpc-types.ts";
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
import { granted, nameConversation, readSaid } from "./named-conversation.ts";
import { exactLog } from "./parsed-log.ts";
import { findEnded, presentResponse, type StoredResponse } from "./responses.ts";

export interface BegunTurn {
  /** The items of the conversation before this response. */
  items: ResponseItem[];
  /** Gives the turn up: no response was created. */
  abandon(): Promise<void>;
}

/** @throws OpenAiProblem not_found, conversation_locked */
export async function beginTurn(
  services: Services,
  caller: Caller,
  conversationId: string,
  predictionId: string,
): Promise<BegunTurn> {
  const { stub, member } = nameConversation(services, caller, conversationId);
  const turn = await granted(services, caller, conversationId, await stub.turn(member));
  if (turn && !(await settleTurn(services, caller, stub, turn))) throw locked();
  const begin = async (maxBytes: number) =>
    granted(services, caller, conversationId, await stub.begin(member, predictionId, maxBytes));
  const abandon = () => stub.settle(predictionId, [], true);
  const items = await readSaid(caller, begin, (begun) => {
    if (begun === "too long") throw contextTooLong("conversation");
    if ("busy" in begun) throw locked();
    return itemsIn(begun.items);
  }).catch(async (error: unknown) => {
    // `abandon` does nothing to the turn of another response.
    await abandon();
    throw error;
  });
  return { items, abandon };
}

/** Returns the items in the conversation of a request. @throws OpenAiProblem not_found */
export async function saidIn(
  services: Services,
  caller: Caller,
  request: Pick<ResponseRequest, "conversation">,
): Promise<ResponseItem[]> {
  const id = conversationIdIn(request);
  if (id === undefined) return [];
  const { stub, member } = nameConversation(services, caller, id);
  const turn = await granted(services, caller, id, await stub.turn(member));
  if (turn) await settleTurn(services, caller, stub, turn);
  const all = async (maxBytes: number) =>
    granted(services, caller, id, await stub.all(member, maxBytes));
  return readSaid(caller, all, (said) => {
    if (said === "too long") throw contextTooLong("conversation");
    return itemsIn(said.items);
  });
}

/**
 * Called before the data of a prediction is deleted: if it is a response, its conversation keeps its items.
 */
export async function keepSaid(
  services: Services,
  caller: Caller,
  predictionId: string,
): Promise<void> {
  const found = await findEnded(services, caller, responseIdOf(predictionId));
  if (!found || found === "under way") return;
  const id = conversationIdIn(found.request);
  if (id === undefined) return;
  const { stub, member } = nameConversation(services, caller, id);
  const turn = await stub.turn(member);
  if (turn && "prediction_id" in turn) await settleTurn(services, caller, stub, turn);
}

/**
 * Adds the items of a response that has ended: none if it failed or was canceled, so that the same can be
 * asked again.
 * @returns false while it is under way
 */
export async function settleTurn(
  services: Services,
  caller: Caller,
  stub: ConversationStub,
  { prediction_id, given, began_at }: Turn,
): Promise<boolean> {
  const found = await findEnded(services, caller, responseIdOf(prediction_id));
  if (found === "under way") return false;
  // The prediction of a turn that was just taken may not exist yet.
  if (!found && Date.now() - began_at < BEGIN_MS) return false;
  const batches = batchesOf(found ? saidBy(found, given) : []);
  for (const [n, items] of batches.entries())
    await stub.settle(prediction_id, items, n === batches.length - 1);
  return true;
}

/**
 * Returns the items that a response adds. Their ids are the same each time: an interrupted call may have
 * added some.
 */
function saidBy(found: StoredResponse, given: number): ItemJson[] {
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
