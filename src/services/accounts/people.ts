/** The people of a deployment, as its operators see them: who they are, never what they run. */
import { notFound } from "../../errors/errors.ts";
import {
  type Activity,
  findActivity,
  listFormerUsernames,
  listOperators,
  listSuspendedUsers,
} from "../../storage/accounts/people.ts";
import { listUsers, type UserRow } from "../../storage/accounts/users.ts";
import { getUser } from "../access/accounts.ts";
import { searchUserRows } from "../models/search.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { releaseUsername } from "./users.ts";

export const CIRCLES = ["everybody", "operators", "suspended"] as const;
export type Circle = (typeof CIRCLES)[number];

export interface Person
  extends Pick<UserRow, "id" | "kind" | "username" | "name" | "suspended_at"> {
  created_at: number;
  /**
   * When the user last used a token or made a prediction, accurate to minutes, or a session, accurate to a
   * day. When they joined, if none of these is known.
   */
  seen_at: number;
  operator: boolean;
  models: number;
}

/**
 * Lists users, newest first, suspended ones by the time of their suspension, or operators by that of their appointment.
 * @throws ValidationFailure for an invalid cursor
 */
export async function listPeople(
  services: Services,
  circle: Circle,
  request: PageRequest,
): Promise<Page<Person>> {
  const { db } = services;
  const page = await paginate(services, request, {
    name: `people/${circle}`,
    find: async (keyset) => {
      if (circle === "everybody") return listUsers(db, "desc", keyset);
      if (circle === "suspended") return listSuspendedUsers(db, keyset);
      return listOperators(db, keyset);
    },
    keyOf: ({ id, suspended_at, operator_since }) => {
      if (circle === "everybody") return [id];
      return [(circle === "suspended" ? suspended_at : operator_since) ?? 0, id];
    },
    present: (row) => row,
  });
  return withActivity(services, page);
}

/** Finds users by words of their usernames and names. @throws ValidationFailure for an invalid cursor */
export async function searchPeople(
  services: Services,
  q: string,
  request: PageRequest,
): Promise<Page<Person>> {
  const page = await searchUserRows(services, q, request, (row) => row);
  return withActivity(services, page);
}

async function withActivity({ db }: Services, page: Page<UserRow>): Promise<Page<Person>> {
  const ids = page.items.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await findActivity(db, ids);
  const activities = new Map(found.map((activity) => [activity.id, activity]));
  return { ...page, items: page.items.map((row) => personOf(row, activities.get(row.id))) };
}

const personOf = (
  { id, kind, username, name, suspended_at, created_at, operator_since }: UserRow,
  activity: Activity | undefined,
): Person => ({
  id,
  kind,
  username,
  name,
  suspended_at,
  created_at,
  seen_at: Math.max(created_at, activity?.used_at ?? 0),
  operator: operator_since !== null,
  models: activity?.models ?? 0,
});

/** @throws ProblemError not_found */
export async function getPerson(services: Services, username: string) {
  const user = await getUser(services, username);
  const [[activity], former] = await Promise.all([
    findActivity(services.db, [user.id]),
    listFormerUsernames(services.db, user.id, user.username),
  ]);
  return {
    person: personOf(user, activity),
    formerUsernames: former.map(({ username: name }) => name),
  };
}

/** Releases a former username of this user. @throws ProblemError not_found */
export async function releaseFormerUsername(
  services: Services,
  username: string,
  former: string,
): Promise<void> {
  const { formerUsernames } = await getPerson(services, username);
  if (!formerUsernames.includes(former))
    throw notFound(`The former username '${former}' of '${username}'`);
  await releaseUsername(services, former);
}
