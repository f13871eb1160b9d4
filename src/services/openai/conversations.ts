/** Conversations of the OpenAI convention, and their items. */
import {
  conversationIdOf,
  duplicateId,
  type ListedItem,
  listedItems,
  MAX_BYTES,
} from "../../domain/openai/conversation.ts";
import { conflict } from "../../errors/errors.ts";
import { invalidParameter, OpenAiProblem } from "../../errors/openai.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import {
  conversationAt,
  type Head,
  type ItemJson,
  newConversationObjectId,
} from "../../objects/stubs/conversation.ts";
import type { Conversation, NewConversation } from "../../protocol/openai/conversation.ts";
import type { ItemsQuery, ResponseItem } from "../../protocol/openai/response.ts";
import type { Caller } from "../access/access.ts";
import { openAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";
import { unixSeconds } from "./calls.ts";
import { contextTooLong, duplicateItem, withoutReferences } from "./context.ts";
import {
  bytesOf,
  granted,
  itemIn,
  jsonOf,
  type NamedConversation,
  nameConversation,
  readItems,
  settleUpdate,
} from "./conversation-updates.ts";

/** @throws ProblemError conflict when the account has as many as it may */
export async function createConversation(
  services: Services,
  caller: Caller,
  { items, metadata }: NewConversation,
): Promise<Conversation> {
  const { env } = services;
  const added = await jsonsOf(services, caller, items ?? []);
  const account_object = await openAccount(services, caller.user_id);
  const objectId = newConversationObjectId(env);
  // The account gets the conversation first: one that it does not know would not be deleted with it.
  if (!(await accountAt(env, account_object).addConversation(objectId)))
    throw conflict(
      "Your account has the maximum number of conversations. Delete some. Unused conversations are deleted automatically.",
    );
  const { user_id, maker, role, models } = caller;
  const made = { account_object, metadata: metadata ?? {} };
  const head = await conversationAt(env, objectId).create(
    { user_id, maker, role, models },
    made,
    added,
  );
  return present(conversationIdOf(objectId), head);
}

export async function readConversation(
  services: Services,
  caller: Caller,
  id: string,
): Promise<Conversation> {
  const { stub, participant } = nameConversation(services, caller, id);
  return present(id, await granted(services, caller, id, await stub.head(participant)));
}

export async function updateConversation(
  services: Services,
  caller: Caller,
  id: string,
  metadata: Conversation["metadata"],
): Promise<Conversation> {
  const { stub, participant } = nameConversation(services, caller, id);
  const head = await stub.setMetadata(participant, metadata);
  return present(id, await granted(services, caller, id, head));
}

/** Deletes a conversation. A response that is under way in it continues. */
export async function deleteConversation(services: Services, caller: Caller, id: string) {
  const { stub, participant } = nameConversation(services, caller, id);
  await granted(services, caller, id, await stub.remove(participant));
  return { id, object: "conversation.deleted" as const, deleted: true as const };
}

/** @throws OpenAiProblem for an id that is there already, or too many items */
export async function addItems(
  services: Services,
  caller: Caller,
  id: string,
  items: ResponseItem[],
): Promise<object> {
  const { stub, participant } = await settled(services, caller, id);
  const added = await jsonsOf(services, caller, items);
  const answer = await granted(services, caller, id, await stub.add(participant, added));
  if (answer === "full") throw contextTooLong("items");
  if (answer !== "added") throw duplicateItem("items", answer.duplicate);
  return listOf(added, false);
}

export async function listItems(
  services: Services,
  caller: Caller,
  id: string,
  { after, order, limit }: ItemsQuery,
): Promise<object> {
  const { stub, participant } = await settled(services, caller, id);
  const read = async (maxBytes: number) =>
    granted(services, caller, id, await stub.page(participant, { after, order, limit }, maxBytes));
  return readItems(caller, read, (page) => {
    if (page) return listOf(page.items, page.has_more);
    const message = `Item '${after?.slice(0, 100)}' not found.`;
    throw invalidParameter("after", "invalid_value", message);
  });
}

export async function readItem(
  services: Services,
  caller: Caller,
  id: string,
  itemId: string,
): Promise<object> {
  const { stub, participant } = await settled(services, caller, id);
  const read = async (maxBytes: number) =>
    granted(services, caller, id, await stub.item(participant, itemId, maxBytes));
  return readItems(caller, read, (item) => {
    if (!item) throw itemNotFound(itemId);
    return presentItem(item);
  });
}

export async function deleteItem(
  services: Services,
  caller: Caller,
  id: string,
  itemId: string,
): Promise<Conversation> {
  const { stub, participant } = await settled(services, caller, id);
  const head = await granted(services, caller, id, await stub.removeItem(participant, itemId));
  if (!head) throw itemNotFound(itemId);
  return present(id, head);
}

/** Returns the conversation after adding the items of a response that has ended meanwhile. */
async function settled(services: Services, caller: Caller, id: string): Promise<NamedConversation> {
  const named = nameConversation(services, caller, id);
  const update = await granted(services, caller, id, await named.stub.update(named.participant));
  if (update) await settleUpdate(services, caller, named.stub, update);
  return named;
}

/** @throws OpenAiProblem item_not_found for a reference, duplicate_item, context_length_exceeded */
async function jsonsOf(
  services: Services,
  caller: Caller,
  items: ResponseItem[],
): Promise<ItemJson[]> {
  const whole = await withoutReferences(services, caller, items);
  const duplicate = duplicateId(whole);
  if (duplicate !== undefined) throw duplicateItem("items", duplicate);
  const added = whole.map((item) => jsonOf(item));
  // Resolved references make the items longer than the request.
  if (bytesOf(added) > MAX_BYTES) throw contextTooLong("items");
  return added;
}

const present = (id: string, { created_at, metadata }: Head): Conversation => ({
  id,
  object: "conversation",
  created_at: unixSeconds(created_at),
  metadata,
});

const presentAll = (items: ItemJson[]): ListedItem[] => listedItems(items.map(itemIn), "");

const presentItem = (item: ItemJson) => presentAll([item])[0] ?? {};

function listOf(items: ItemJson[], has_more: boolean): object {
  const [first, last] = [items.at(0), items.at(-1)];
  return {
    object: "list",
    data: presentAll(items),
    first_id: first?.id ?? "",
    last_id: last?.id ?? "",
    has_more,
  };
}

function itemNotFound(id: string): OpenAiProblem {
  const message = `Item with id '${id.slice(0, 100)}' not found.`;
  return new OpenAiProblem(404, { message, param: "item_id", code: "item_not_found" });
}
