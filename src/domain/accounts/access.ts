/**
 * What a caller may touch: decided here for every route of the API, and for the dashboard. The
 * scopes of a token say what it may do (middleware/authentication.ts); this says to what.
 *
 * A token for some models is for these, for what was run of them, and for what it has uploaded
 * itself. What everybody sees it sees too. What is the account's as a whole is not for it: the
 * profile, new models, and webhook endpoints, which are told of every run.
 */
import type { Visibility } from "../../protocol/model.ts";

export interface Principal {
  token_id: string;
  user_id: string;
  /** The ids of the models that its token is for. Null: all. */
  models: string[] | null;
}

export type Access =
  | "granted"
  /** They may not even know of it. */
  | "hidden"
  | "for its owner"
  /** The account may, and its token may not. */
  | "for other tokens";

/** To see it; to run it; to change it, and to see what only who changes it sees. */
export type ModelUse = "read" | "run" | "change";

export function accessToModel(
  holder: Principal | undefined,
  model: { id: string; owner_id: string; visibility: Visibility },
  use: ModelUse,
): Access {
  const isOwn = model.owner_id === holder?.user_id;
  const isShown = model.visibility !== "private";
  if (!isShown && !isOwn) return "hidden";
  if (isShown && use === "read") return "granted";
  if (!isOwn && use === "change") return "for its owner";
  return reaches(holder, model.id);
}

/** To all that there is of a prediction, and to what can be done with it. */
export const accessToPrediction = (
  holder: Principal,
  { user_id, model_id }: { user_id: string; model_id: string },
): Access => (user_id === holder.user_id ? reaches(holder, model_id) : "hidden");

/** @param upload with the token that began it */
export function accessToUpload(
  holder: Principal,
  { user_id, token_id }: { user_id: string; token_id: string | null },
): Access {
  if (user_id !== holder.user_id) return "hidden";
  return hasFullAccess(holder) || token_id === holder.token_id ? "granted" : "for other tokens";
}

export const accessToAccount = (holder: Principal): Access =>
  hasFullAccess(holder) ? "granted" : "for other tokens";

/** Whether they have all that is their account's. */
export const hasFullAccess = (holder: Principal): boolean => holder.models === null;

const reaches = (holder: Principal | undefined, modelId: string): Access =>
  !holder?.models || holder.models.includes(modelId) ? "granted" : "for other tokens";
