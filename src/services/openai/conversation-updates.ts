/**
 * Updates of a conversation by responses, one at a time. An update begins before its response is created, so
 * that no other can come between; nothing waits for its end. When the conversation is used next, it asks
 * whether the response has ended, and adds its items.
 */
import { z } from "zod";
import { responseIdOf } from "../../domain/openai/call.ts";
import {
  BEGIN_MS,
  conversationIdIn,
  itemIdOf,
  itemsOf,
  objectIdOf,
  SMALL_BYTES,
} from "../../domain/openai/conversation.ts";
import { OpenAiProblem } from "../../errors/openai.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { fieldsOf } from "../../lib/fields.ts";
import {
  type ConversationStub,
  type ConversationUpdate,
  conversationWithId,
  type ItemJson,
  type Large,
  type Participant,
  type Refused,
} from "../../objects/stubs/conversation.ts";
import {
  type ResponseItem,
  type ResponseRequest,
  responseItem,
} from "../../protocol/openai/response.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { readWhole } from "../predictions/large-reads.ts";
import type { Services } from "../services.ts";
import { contextTooLong } from "./context.ts";
import { exactLog } from "./log-reader.ts";
import { findEnded, presentResponse, type StoredResponse } from "./responses.ts";

/**
 * The part of a message's 32 MiB that items may fill. One item has 30 MB at most: 10,000,000 characters of an
 * input, or 16 MiB of an output.
 */
const BATCH_BYTES = 16 * 1024 * 1024;

const encoder = new TextEncoder();

const decoder = new TextDecoder();

export interface BegunUpdate {
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
  const { stub, participant } = nameConversation(services, caller, conversationId);
  const update = await granted(services, caller, conversationId, await stub.update(participant));
  if (update && !(await settleUpdate(services, caller, stub, update))) throw locked();
  const begin = async (maxBytes: number) =>
    granted(
      services,
      caller,
      conversationId,
      await stub.begin(participant, predictionId, maxBytes),
    );
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
  const { stub, participant } = nameConversation(services, caller, id);
  const update = await granted(services, caller, id, await stub.update(participant));
  if (update) await settleUpdate(services, caller, stub, update);
  const all = async (maxBytes: number) =>
    granted(services, caller, id, await stub.all(participant, maxBytes));
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
  const { stub, participant } = nameConversation(services, anyMaker(caller), id);
  const update = await stub.update(participant);
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
  const found = await findEnded(services, anyMaker(caller), responseIdOf(prediction_id));
  if (found === "under way") return false;
  // The prediction of an update that has just begun may not exist yet.
  if (!found && Date.now() - began_at < BEGIN_MS) return false;
  const batches = batchesOf(found ? itemsOfResponse(found, given) : []);
  for (const [n, items] of batches.entries())
    await stub.settle(prediction_id, items, n === batches.length - 1);
  return true;
}

/**
 * Returns a caller that reaches the response of any maker: a developer may have made it in the conversation of a
 * member, who uses the conversation next.
 */
const anyMaker = (caller: Caller): Caller => ({ ...caller, role: "owner", models: null });

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
      "Another response is in progress in this conversation. Wait for it to end, or cancel it.",
    param: "conversation",
    code: "conversation_locked",
  });

/** @param name as in itemIdOf */
export const jsonOf = (item: ResponseItem, name?: string): ItemJson => ({
  id: itemIdOf(item, name),
  json: encoder.encode(exactText(item)),
});

/** Returns an item as it was sent, with its id. Its size was checked when it was sent. */
export const itemIn = ({ id, json }: ItemJson): ResponseItem => ({
  ...fieldsOf(parseExact(decoder.decode(json))),
  id,
});

export const bytesOf = (items: ItemJson[]) => items.reduce((sum, { json }) => sum + json.length, 0);

/** Splits items into batches that each fit a message, of at least one item. */
function batchesOf(items: ItemJson[]): ItemJson[][] {
  const batches: ItemJson[][] = [[]];
  let bytes = 0;
  for (const item of items) {
    bytes += item.json.length;
    if (bytes > BATCH_BYTES) {
      batches.push([]);
      bytes = item.json.length;
    }
    batches.at(-1)?.push(item);
  }
  return batches;
}

/** A conversation that a request names. Each call of its object checks that it is the caller's. */
export interface NamedConversation {
  id: string;
  stub: ConversationStub;
  participant: Participant;
}

/** @throws OpenAiProblem not_found for what is no id of a conversation */
export function nameConversation(
  { env }: Services,
  { user_id, maker, role, models }: Caller,
  id: string,
): NamedConversation {
  const objectId = objectIdOf(id);
  const stub = objectId === undefined ? undefined : conversationWithId(env, objectId);
  if (!stub) throw notFound(id);
  return { id, stub, participant: { user_id, maker, role, models } };
}

/** Returns the answer of a conversation's object. @throws OpenAiProblem not_found, ProblemError forbidden */
export async function granted<Answer>(
  services: Services,
  caller: Caller,
  id: string,
  answer: Answer,
): Promise<Exclude<Answer, Refused>> {
  if (isGranted(answer)) return answer;
  if (isRefused(answer) && answer.refused !== "hidden")
    await requireAccess(services, caller, answer.refused, `The conversation '${id}'`);
  throw notFound(id);
}

/**
 * Reads the items of a conversation and uses them while they are in memory. Large ones are read in turn, as
 * whole predictions are: a request of a few bytes may ask for 10 MB, which are in memory several times while
 * they are parsed.
 * @param read returns `large` for items of more bytes
 */
export async function readItems<Answer, Result>(
  { user_id }: Caller,
  read: (maxBytes: number) => Promise<Answer | Large>,
  use: (answer: Answer) => Result,
): Promise<Result> {
  const answer = await read(SMALL_BYTES);
  if (!isLarge(answer)) return use(answer);
  return readWhole(user_id, async () => {
    const whole = await read(Number.MAX_SAFE_INTEGER);
    if (isLarge(whole)) throw new Error("there is no more that could be asked for");
    return use(whole);
  });
}

const isLarge = (answer: unknown): answer is Large => answer === "large";

const isRefused = (answer: unknown): answer is Refused =>
  typeof answer === "object" && answer !== null && "refused" in answer;

const isGranted = <Answer>(answer: Answer): answer is Exclude<Answer, Refused> =>
  !isRefused(answer);

function notFound(id: string): OpenAiProblem {
  const message = `Conversation with id '${id.slice(0, 100)}' not found.`;
  return new OpenAiProblem(404, {
    message,
    param: "conversation",
    code: "conversation_not_found",
  });
}
