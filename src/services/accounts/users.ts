/** Users: reading them, and updating the caller's own profile. */
import { v7 as uuid } from "uuid";
import { hasFullAccess } from "../../domain/accounts/access.ts";
import { ROWS_OF } from "../../domain/accounts/write-rows.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import type { OwnUser, Role, UpdateOrganization } from "../../protocol/organization.ts";
import type { UpdateUser, User } from "../../protocol/user.ts";
import { listOrganizations } from "../../storage/accounts/organizations.ts";
import {
  deleteUsername,
  findUser,
  findUserByName,
  insertUser,
  type UserRow,
  updateUser,
  listUsers as usersOf,
} from "../../storage/accounts/users.ts";
import { isDuplicate } from "../../storage/database.ts";
import type { Direction } from "../../storage/keyset.ts";
import type { Caller } from "../access/access.ts";
import { requireCurrentAccess } from "../access/authentication.ts";
import { chargeRows } from "../access/write-limit.ts";
import { userTarget } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";

/** Organizations that are listed at once. */
export const MAX_ORGANIZATIONS = 1_000;

/** Usernames per account, including past ones, which stay reserved for it. */
const MAX_USERNAMES = 5;

/** @throws ProblemError conflict */
export async function createUser(
  { db }: Services,
  request: { username: string; name: string },
): Promise<UserRow> {
  const now = Date.now();
  const row = {
    id: uuid(),
    ...request,
    avatar_url: "",
    created_at: now,
    updated_at: now,
  };
  const entry = auditEntry({
    action: "user.created",
    account_id: row.id,
    targets: [userTarget(row)],
    after: request,
  });
  const user = await unlessTaken(request.username, insertUser(db, row, entry));
  if (!user) throw new Error("The user was not returned");
  return user;
}

export async function getOwnUser({ db, present }: Services, caller: Caller): Promise<OwnUser> {
  const [user, memberships] = await Promise.all([
    findUser(db, caller.user_id),
    hasFullAccess(caller) ? listOrganizations(db, caller.user_id, MAX_ORGANIZATIONS) : [],
  ]);
  if (!user) throw notFound("The user of this token");
  const organizations = memberships.map(({ organization: { username }, role }) => {
    return { username, role };
  });
  return { ...present.user(user), organizations };
}

/** @throws ProblemError forbidden; conflict for a username that another account holds, or too many */
export async function updateOwnUser(
  services: Services,
  caller: Caller,
  changes: UpdateUser,
): Promise<OwnUser> {
  const what = "The profile of the account";
  await requireCurrentAccess(services, caller, what, roleToChange(changes));
  return updateProfile(services, caller, changes);
}

/** Returns the lowest role in an organization that may make these changes. */
export const roleToChange = ({ username }: UpdateUser): Role =>
  username === undefined ? "admin" : "owner";

/** Changes the profile of an account, once the caller may. @throws ProblemError conflict */
export async function updateProfile(
  services: Services,
  caller: Caller,
  changes: UpdateOrganization,
): Promise<OwnUser> {
  if (Object.keys(changes).length === 0) return getOwnUser(services, caller);
  const { db } = services;
  if (changes.username !== undefined)
    await chargeRows(services, ROWS_OF.renamedModel * services.settings.maxModels);
  const before = await findUser(db, caller.user_id);
  if (!before) throw notFound("The user of this token");
  const row = { ...changes, updated_at: Date.now() };
  const entry = profileEntry(before, changes);
  const updating = updateUser(db, caller.user_id, row, MAX_USERNAMES, entry);
  const user = await unlessTaken(changes.username, updating);
  if (!user) {
    await getOwnUser(services, caller);
    throw conflict(
      `An account can have at most ${MAX_USERNAMES} usernames, including former ones. Use one of yours, or ask the operator to release one.`,
    );
  }
  if (changes.username !== undefined) forgetModels();
  return getOwnUser(services, caller);
}

export const profileEntry = (before: UserRow, after: Partial<UserRow>) =>
  auditEntry({
    action: `${before.kind}.updated`,
    account_id: before.id,
    targets: [{ type: before.kind, id: before.id, name: before.username }],
    before,
    after,
  });

/** Makes a past username available to everyone. @throws ProblemError not_found, conflict */
export async function releaseUsername({ db }: Services, username: string): Promise<void> {
  const entryOf = (id: string) =>
    auditEntry({
      action: "username.released",
      account_id: id,
      targets: [{ type: "username", id: username, name: username }],
    });
  if (await deleteUsername(db, username, entryOf)) return;
  if (!(await findUserByName(db, username))) throw notFound(`The username '${username}'`);
  throw conflict(
    `'${username}' is in use. It can be released after its user changes to another username.`,
  );
}

export const listUsers = (
  services: Services,
  direction: Direction,
  request: PageRequest,
): Promise<Page<User>> =>
  paginate(services, request, {
    name: `users?${direction}`,
    find: (keyset) => usersOf(services.db, direction, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.user,
  });

/** @throws ProblemError conflict */
const unlessTaken = <Row>(username: string | undefined, writing: Promise<Row>): Promise<Row> =>
  orConflict(
    writing,
    isDuplicate,
    `The username '${username}' is taken, or was used by another account.`,
  );
