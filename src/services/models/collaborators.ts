/** Collaborators: the users and organizations that a model is shared with. */
import { conflict, notFound } from "../../errors/errors.ts";
import type { Collaborator, ShareLevel } from "../../protocol/organization.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import {
  listCollaborators as collaboratorsOf,
  deleteCollaborator,
  findCollaborator,
  saveCollaborator,
} from "../../storage/models/collaborators.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import {
  type Caller,
  isSuspended,
  requireAccountAccess,
  requireUnlimited,
} from "../access/access.ts";
import { getUser } from "../access/accounts.ts";
import { currentCaller } from "../access/authentication.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { ofModel, readModelTo } from "./models.ts";

const MAX_COLLABORATORS = 100;

type Place = [owner: string, name: string];

/** Lists collaborators, those with the oldest accounts first. @throws ProblemError not_found, forbidden */
export async function listCollaborators(
  services: Services,
  caller: Caller,
  place: Place,
  request: PageRequest,
): Promise<Page<Collaborator>> {
  const { id } = await readModelTo(services, caller, place, "share");
  return paginate(services, request, {
    name: `collaborators/${id}`,
    find: (keyset) => collaboratorsOf(services.db, id, keyset),
    keyOf: ({ account }) => [account.id],
    present: services.present.collaborator,
  });
}

/**
 * Shares a model with an account, or changes the level. A public model can be shared as well: `write` lets the
 * account publish, and a share stays while the model is private.
 * @throws ProblemError not_found, forbidden, conflict
 */
export async function setCollaborator(
  services: Services,
  caller: Caller,
  place: Place,
  username: string,
  level: ShareLevel,
): Promise<Collaborator> {
  const model = await readModelTo(services, await currentCaller(services, caller), place, "share");
  requireUnlimited(caller, "share models");
  const account = await getUser(services, username);
  if (account.id === model.owner.id)
    throw conflict(`'${username}' owns this model. Name another account.`);
  if (isSuspended(account))
    throw conflict(`The account '${username}' is suspended. Name another account.`);
  const row = { model_id: model.id, account_id: account.id, level, created_at: Date.now() };
  const existing = await findCollaborator(services.db, model.id, account.id);
  if (existing?.level === level) return services.present.collaborator({ account, ...existing });
  const entry = auditEntry({
    action: existing ? "collaborator.updated" : "collaborator.added",
    ...ofCollaborator(model, account),
    before: { level: existing?.level },
    after: { level },
  });
  const created_at = await saveCollaborator(services.db, row, MAX_COLLABORATORS, entry);
  if (created_at === undefined)
    throw conflict(
      `A model can be shared with at most ${MAX_COLLABORATORS} accounts. Remove one, or share it with an organization.`,
    );
  forgetModel({ user_id: account.id }, ...place);
  return services.present.collaborator({ account, level, created_at });
}

/**
 * Ends a share. Collaborators may end their own: a user, or an admin of an organization.
 * @throws ProblemError not_found, forbidden
 */
export async function removeCollaborator(
  services: Services,
  caller: Caller,
  place: Place,
  username: string,
): Promise<void> {
  const [current, account] = await Promise.all([
    currentCaller(services, caller),
    getUser(services, username),
  ]);
  const isOwn = account.id === current.user_id;
  const model = await readModelTo(services, current, place, isOwn ? "read" : "share");
  if (isOwn) await requireAccountAccess(services, current, `The account '${username}'`, "admin");
  const entry = auditEntry({ action: "collaborator.removed", ...ofCollaborator(model, account) });
  if (!(await deleteCollaborator(services.db, model.id, account.id, entry)))
    throw notFound(`The collaborator '${username}'`, "The model is not shared with this account.");
  forgetModel({ user_id: account.id }, ...place);
}

/** The account and the targets of an entry of the audit log about a share: it is in the log of the model's owner. */
function ofCollaborator(model: DetailedModelRow, { kind, id, username }: UserRow) {
  const { account_id, targets } = ofModel(model);
  return { account_id, targets: [{ type: kind, id, name: username }, ...targets] };
}
