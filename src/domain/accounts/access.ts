/**
 * Access rules for every route of the API and for the dashboard. The scopes of a token say what it can
 * do (middleware/authentication.ts); this file says to which resources.
 *
 * A token limited to some models covers these models, their predictions, its own uploads, and the
 * conversations that only such tokens have used. It also sees everything public. It does not cover
 * resources of the whole account: the profile, new models, and webhook endpoints, which receive events of
 * every prediction.
 */

import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from "../../protocol/common.ts";
import type { Visibility } from "../../protocol/model.ts";

export interface Principal {
  token_id: string;
  user_id: string;
  /** Ids of the models that the token is limited to. Null: all. */
  models: string[] | null;
}

export type Access =
  | "granted"
  /** The resource is treated as nonexistent. */
  | "hidden"
  | "owner only"
  /** The account has access, but the token does not cover it. */
  | "outside token";

/** `change` includes reading what only the owner sees. */
export type ModelUse = "read" | "run" | "change";

export function accessToModel(
  principal: Principal | undefined,
  model: { id: string; owner_id: string; visibility: Visibility },
  use: ModelUse,
): Access {
  const isOwn = model.owner_id === principal?.user_id;
  const isVisible = model.visibility !== "private";
  if (!isVisible && !isOwn) return "hidden";
  if (isVisible && use === "read") return "granted";
  if (!isOwn && use === "change") return "owner only";
  return accessByToken(principal, model.id);
}

export const accessToPrediction = (
  principal: Principal,
  { user_id, model_id }: { user_id: string; model_id: string },
): Access => (user_id === principal.user_id ? accessByToken(principal, model_id) : "hidden");

/** Returns the access to an upload. A limited token covers only the uploads that it created. */
export function accessToUpload(
  principal: Principal,
  { user_id, token_id }: { user_id: string; token_id: string | null },
): Access {
  if (user_id !== principal.user_id) return "hidden";
  return hasFullAccess(principal) || token_id === principal.token_id ? "granted" : "outside token";
}

/** The access to a conversation. @param conversation with the models of all tokens that have added to it */
export function accessToConversation(
  { user_id, models: covered }: Pick<Principal, "user_id" | "models">,
  conversation: Pick<Principal, "user_id" | "models">,
): Access {
  if (conversation.user_id !== user_id) return "hidden";
  if (covered === null) return "granted";
  const isCovered = conversation.models?.every((id) => covered.includes(id)) ?? false;
  return isCovered ? "granted" : "outside token";
}

export const accessToAccount = (principal: Principal): Access =>
  hasFullAccess(principal) ? "granted" : "outside token";

export const hasFullAccess = (principal: Principal): boolean => principal.models === null;

const accessByToken = (principal: Principal | undefined, modelId: string): Access =>
  !principal?.models || principal.models.includes(modelId) ? "granted" : "outside token";

interface Repository {
  id: string;
  owner_id: string;
  visibility: Visibility;
}

/** Public images are for everybody. @param granted the model that a runner's grant opens */
export function accessToPull(
  principal: Principal | undefined,
  granted: string | undefined,
  model: Repository,
): Access {
  if (granted !== undefined) return granted === model.id ? "granted" : "hidden";
  if (model.visibility === "public") return "granted";
  if (model.owner_id === principal?.user_id) return accessToModel(principal, model, "change");
  return model.visibility === "restricted" && principal ? "owner only" : "hidden";
}

/** How long a runner token counts as valid after D1 was asked about it. */
export const TOKEN_MS = 10_000;
/** How often the readers of a stream are checked: it outlives the request that authenticated them. */
export const CHECK_MS = 5_000;
/** The age up to which a cached check is not repeated. With CHECK_MS, access ends in less than 10 s. */
export const RECENT_CHECK_MS = 4_000;

/** Undefined if the token may not use the priority. @param held its highest priority; null: any */
export function priorityOf(
  asked: Priority | undefined,
  held: Priority | null,
): Priority | undefined {
  if (asked === undefined || held === null) return asked ?? held ?? DEFAULT_PRIORITY;
  return PRIORITIES.indexOf(asked) <= PRIORITIES.indexOf(held) ? asked : undefined;
}
