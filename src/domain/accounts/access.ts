/**
 * Access rules for every route of the API and for the dashboard. The scopes of a token say what it can
 * do (middleware/authentication.ts); this file says to which resources.
 *
 * A token limited to some models covers these models, their predictions, its own uploads, and the
 * conversations that only such tokens have used. It also sees everything public. It does not cover
 * resources of the whole account: the profile, new models, and webhook endpoints, which receive events of
 * every prediction.
 */
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

/** Access to a prediction and everything about it. */
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

/**
 * Returns the access to a conversation, which contains the outputs of its responses' models.
 * @param conversation its models are those of all tokens that have made it or added to it
 */
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

/** Whether the token covers the whole account. */
export const hasFullAccess = (principal: Principal): boolean => principal.models === null;

const accessByToken = (principal: Principal | undefined, modelId: string): Access =>
  !principal?.models || principal.models.includes(modelId) ? "granted" : "outside token";
