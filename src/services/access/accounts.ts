/** Finds users, and the objects of their accounts, which have their predictions and their usage. */
import { notFound, ProblemError } from "../../errors/errors.ts";
import { type AccountStub, accountAt, newAccountObjectId } from "../../objects/stubs/account.ts";
import {
  findAccountObject,
  findUserByName,
  setAccountObject,
  type UserRow,
} from "../../storage/accounts/users.ts";
import { immutable } from "../../storage/cache.ts";
import type { Services } from "../services.ts";

/** Object ids by user id. They need no expiry: an account never changes its object. */
const objectIds = immutable<string>(50_000);

/** Remembers the object id that a look-up of a token or session has found. */
export function rememberAccountObject(userId: string, objectId: string | null): void {
  if (objectId !== null) objectIds.set(userId, objectId);
}

/** @returns undefined for an account that has neither made a prediction nor changed anything */
export async function findAccount(
  { env, db }: Services,
  userId: string,
): Promise<AccountStub | undefined> {
  if (!objectIds.has(userId)) rememberAccountObject(userId, await findAccountObject(db, userId));
  const id = objectIds.get(userId);
  return id === undefined ? undefined : accountAt(env, id);
}

/**
 * Returns the id of the account's object. The object is created with the account's first prediction or
 * change, near whoever makes that.
 * @throws ProblemError unauthenticated when the account was deleted meanwhile
 */
export async function openAccount({ env, db }: Services, userId: string): Promise<string> {
  const known = objectIds.get(userId);
  if (known !== undefined) return known;
  const id = await setAccountObject(db, userId, newAccountObjectId(env));
  if (id === undefined) throw new ProblemError("unauthenticated", "The account was deleted.");
  objectIds.set(userId, id);
  return id;
}

/** @throws ProblemError not_found */
export async function getUser({ db }: Services, username: string): Promise<UserRow> {
  const user = await findUserByName(db, username);
  if (!user) throw notFound(`The account '${username}'`, "Check the username.");
  return user;
}
