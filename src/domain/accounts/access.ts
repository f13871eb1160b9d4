/**
 * Access rules for every route of the API and for the dashboard. The scopes of a token say what it can
 * do (middleware/authentication.ts); this file says to which resources.
 *
 * A token limited to some models covers these models, their predictions, its own uploads, and the
 * conversations that only such tokens have used. It also sees everything public. It does not cover
 * resources of the whole account: the profile, new models, and webhook endpoints, which receive events of
 * every prediction.
 *
 * An organization is an account for which its members act, each with a role. What a person may do in their
 * own account, the role decides in an organization.
 */

import { DEFAULT_PRIORITY, PRIORITIES, type Priority } from "../../protocol/common.ts";
import type { Visibility } from "../../protocol/model.ts";
import { ROLES, type Role, type ShareLevel } from "../../protocol/organization.ts";

export interface Principal {
  token_id: string;
  /** The account, a user or an organization, that the principal acts for and that pays. */
  user_id: string;
  /** The id of the member, or of the service token, that acts for an organization. Empty in one's own account. */
  maker: string;
  /** The role of the maker in the account. In one's own account: `owner`. */
  role: Role;
  /** Ids of the models that the token is limited to. Null: all. */
  models: string[] | null;
  /** The id of a client token, which reaches only the predictions that it created. */
  client_id?: string;
}

/** The account and the maker of a prediction, an upload or a conversation. */
interface Made {
  user_id: string;
  maker: string;
}

export type Access =
  | "granted"
  /** The resource is treated as nonexistent. */
  | "hidden"
  | "owner only"
  /** The account has access, but the role is too low. */
  | `${Role} role`
  /** The account has access, but the token does not cover it. */
  | "outside token";

/**
 * `write`: publish versions, edit texts and examples, push images. `change`: all else that an owner does,
 * including reading what only the owner sees. `share`: share the model with other accounts.
 */
export type ModelUse = "read" | "run" | "write" | "change" | "share";

/** The lowest role in an organization that may use its models in this way. */
const MODEL_ROLES: Record<ModelUse, Role> = {
  read: "member",
  run: "member",
  write: "developer",
  change: "developer",
  share: "admin",
};

/** The lowest role that reaches what other makers of the organization have made. */
const SEES_ALL: Role = "developer";

export const hasRole = ({ role }: Pick<Principal, "role">, least: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(least);

export interface ModelAccess {
  id: string;
  owner_id: string;
  visibility: Visibility;
  /**
   * The level of the principal's account for a model of another account: by a share, or as a person who is a
   * member of the organization that owns it. Null: the account may do what everybody may.
   */
  level: ShareLevel | null;
}

export function accessToModel(
  principal: Principal | undefined,
  model: ModelAccess,
  use: ModelUse,
): Access {
  const isOwn = model.owner_id === principal?.user_id;
  const level = principal ? model.level : null;
  const isVisible = model.visibility !== "private";
  if (!isVisible && !isOwn && level === null) return "hidden";
  if (isVisible && use === "read") return "granted";
  if (!isOwn && !isForOthers(use, level)) return "owner only";
  return accessByRole(principal, MODEL_ROLES[use]) ?? accessByToken(principal, model.id);
}

const isForOthers = (use: ModelUse, level: ShareLevel | null): boolean =>
  use === "read" || use === "run" || (use === "write" && level === "write");

const accessByRole = (principal: Principal | undefined, least: Role): Access | undefined =>
  principal && !hasRole(principal, least) ? `${least} role` : undefined;

export const accessToPrediction = (
  principal: Principal,
  prediction: Made & { model_id: string; client_id: string },
): Access =>
  reaches(principal, prediction) && isOfClient(principal, prediction)
    ? accessByToken(principal, prediction.model_id)
    : "hidden";

const isOfClient = ({ client_id }: Principal, prediction: { client_id: string }): boolean =>
  client_id === undefined || client_id === prediction.client_id;

/** Whether a resource is of the principal's account, and of its own making if the role is a member's. */
const reaches = (
  principal: Pick<Principal, "user_id" | "maker" | "role">,
  { user_id, maker }: Made,
): boolean =>
  user_id === principal.user_id && (maker === principal.maker || hasRole(principal, SEES_ALL));

/** Returns the only maker whose resources a principal reaches. Undefined: it reaches those of all. */
export const onlyMaker = (principal: Pick<Principal, "maker" | "role">): string | undefined =>
  hasRole(principal, SEES_ALL) ? undefined : principal.maker;

/** Returns the access to an upload. A limited token covers only the uploads that it created, a client token none. */
export function accessToUpload(
  principal: Principal,
  upload: Made & { token_id: string | null },
): Access {
  if (!reaches(principal, upload) || principal.client_id !== undefined) return "hidden";
  return hasFullAccess(principal) || upload.token_id === principal.token_id
    ? "granted"
    : "outside token";
}

/** The access to a conversation. @param conversation with the models of all tokens that have added to it */
export function accessToConversation(
  participant: Pick<Principal, "user_id" | "maker" | "role" | "models">,
  conversation: Made & Pick<Principal, "models">,
): Access {
  if (!reaches(participant, conversation)) return "hidden";
  const { models: covered } = participant;
  if (covered === null) return "granted";
  const isCovered = conversation.models?.every((id) => covered.includes(id)) ?? false;
  return isCovered ? "granted" : "outside token";
}

/** @param least the lowest role in an organization that has this access */
export const accessToAccount = (principal: Principal, least: Role): Access =>
  accessByRole(principal, least) ?? (hasFullAccess(principal) ? "granted" : "outside token");

export const hasFullAccess = (principal: Principal): boolean => principal.models === null;

const accessByToken = (principal: Principal | undefined, modelId: string): Access =>
  !principal?.models || principal.models.includes(modelId) ? "granted" : "outside token";

/** Public images are for everybody. @param granted the model that a runner's grant opens */
export function accessToPull(
  principal: Principal | undefined,
  granted: string | undefined,
  model: ModelAccess,
): Access {
  if (granted !== undefined) return granted === model.id ? "granted" : "hidden";
  if (model.visibility === "public") return "granted";
  const access = accessToModel(principal, model, "write");
  return access === "owner only" && !principal ? "hidden" : access;
}

/** How long a runner token counts as valid after D1 was asked about it. */
export const TOKEN_MS = 10_000;
/** How often the readers of a stream are checked: it outlives the request that authenticated them. */
export const CHECK_MS = 5_000;
/** The age up to which a cached check is not repeated. With CHECK_MS, access ends in less than 10 s. */
export const RECENT_CHECK_MS = 4_000;

/**
 * Undefined if the token may not use the priority.
 * @param held its highest priority; null: any
 * @param own the priority where none is asked for, as far as the token allows it
 */
export function priorityOf(
  asked: Priority | undefined,
  held: Priority | null,
  own?: Priority,
): Priority | undefined {
  const wanted = asked ?? own;
  if (wanted === undefined || held === null) return wanted ?? held ?? DEFAULT_PRIORITY;
  if (PRIORITIES.indexOf(wanted) <= PRIORITIES.indexOf(held)) return wanted;
  return asked === undefined ? held : undefined;
}
