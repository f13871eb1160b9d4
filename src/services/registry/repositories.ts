/** Repositories of the registry: models, by the names that clients push to and pull from. */
import {
  accessToModel,
  accessToPull,
  hasFullAccess,
  type ModelAccess,
} from "../../domain/accounts/access.ts";
import { verifyGrant } from "../../domain/registry/grant.ts";
import { ProblemError } from "../../errors/errors.ts";
import { RegistryError } from "../../errors/registry.ts";
import { slug } from "../../protocol/common.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { findRepository } from "../../storage/registry/manifests.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { createModel } from "../models/models.ts";
import type { Services } from "../services.ts";

export interface RepositoryName {
  owner: string;
  name: string;
}

export interface PushedName extends RepositoryName {
  /** The id of the model that is meant; undefined: the model with the name, or a new one. */
  model: string | undefined;
}

export type Repository = ModelAccess;

/** The sender of a pull: a user with a token, a runner that holds a job of a model, or anybody. */
export interface Puller {
  caller: Caller | undefined;
  /** The model that a runner's grant opens. */
  granted: string | undefined;
}

const textOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`;

/** @throws RegistryError NAME_UNKNOWN, also for a repository that the caller may not see; ProblemError */
export async function openToPull(
  services: Services,
  { caller, granted }: Puller,
  name: RepositoryName,
): Promise<Repository> {
  const repository = await findRepository(services.db, name.owner, name.name, caller?.user_id);
  const access = repository ? accessToPull(caller, granted, repository) : "hidden";
  if (repository && access === "granted") return repository;
  if (access === "owner only") {
    throw new RegistryError(
      403,
      "DENIED",
      `Only the owner can download the image of ${textOf(name)}. You can still run the model.`,
    );
  }
  if (access !== "hidden") await requireAccess(services, caller, access, whatIs(name));
  // A client that has not logged in does not learn whether the repository exists.
  throw caller || granted !== undefined ? unknownName(name) : notLoggedIn(name);
}

/**
 * Opens a repository that the caller may push to.
 * @param use `change` to remove images, which only the owner may
 * @throws RegistryError NAME_UNKNOWN; ProblemError
 */
export async function openToPush(
  services: Services,
  caller: Caller,
  name: PushedName,
  use: "write" | "change" = "write",
): Promise<Repository> {
  const repository = await findShown(services, caller, name);
  if (name.model !== undefined && repository?.id !== name.model) throw notMeant(name);
  if (!repository) throw unknownName(name);
  const access = accessToModel(caller, repository, use);
  if (access === "owner only")
    throw denied(
      repository.level === "write"
        ? `Permission denied: only the owner can delete images of ${textOf(name)}.`
        : `Permission denied: ${textOf(name)} belongs to someone else. Push to a model of your own.`,
    );
  await requireAccess(services, caller, access, whatIs(name));
  return repository;
}

/** Returns undefined also for a model that the caller may not see. */
async function findShown(
  { db }: Services,
  caller: Caller,
  { owner, name }: RepositoryName,
): Promise<Repository | undefined> {
  const repository = await findRepository(db, owner, name, caller.user_id);
  const isHidden = repository && accessToModel(caller, repository, "read") === "hidden";
  return isHidden ? undefined : repository;
}

/**
 * Opens a repository that the caller may push to; the first push to a new name makes a private model.
 * @throws RegistryError NAME_INVALID, NAME_UNKNOWN, DENIED; ProblemError
 */
export async function openToFirstPush(
  services: Services,
  caller: Caller,
  name: PushedName,
): Promise<Repository> {
  if (name.model !== undefined || (await findShown(services, caller, name)))
    return openToPush(services, caller, name);
  const own = (await findUser(services.db, caller.user_id))?.username;
  if (own !== name.owner) {
    throw denied(
      `Permission denied: you are ${own}. Push to ${own}/${name.name}, not ${textOf(name)}.`,
    );
  }
  if (!hasFullAccess(caller)) throw unknownName(name);
  const valid = slug.safeParse(name.name);
  if (!valid.success) {
    const why = valid.error.issues[0]?.message ?? "not a name";
    throw new RegistryError(
      400,
      "NAME_INVALID",
      `Invalid model name '${name.name.slice(0, 150)}'. ${why}.`,
    );
  }
  try {
    await createModel(services, caller, { name: name.name, visibility: "private" });
  } catch (error) {
    // Docker pushes layers in parallel: the request of another layer may have just made the model.
    if (!(await findRepository(services.db, name.owner, name.name, caller.user_id))) throw error;
  }
  return openToPush(services, caller, name);
}

const whatIs = (name: RepositoryName) => `The model '${textOf(name)}'`;

const denied = (message: string) => new RegistryError(403, "DENIED", message);

const unknownName = (name: RepositoryName) =>
  new RegistryError(
    404,
    "NAME_UNKNOWN",
    `Image ${textOf(name)} not found, or you do not have access to it.`,
  );

const notMeant = (name: RepositoryName) =>
  new RegistryError(
    404,
    "NAME_UNKNOWN",
    `The model '${textOf(name)}' was deleted or renamed during this push. Publish it again to recreate it.`,
  );

const notLoggedIn = (name: RepositoryName) =>
  new ProblemError(
    "unauthenticated",
    `Public image ${textOf(name)} not found. If it is your image, log in with an access token as the password.`,
  );

/**
 * @param grantText the grant as the client sent it: any text
 * @returns the id of the model whose repository it opens; undefined if it opens none
 */
export async function grantedModel(
  services: Services,
  grantText: string,
): Promise<string | undefined> {
  const grant = await verifyGrant(services.settings.secretKeys, grantText, Date.now());
  if (!grant) return undefined;
  const knownAt = await runnerTokenKnownAt(services.db, grant.token_id);
  return knownAt === undefined ? undefined : grant.model_id;
}
