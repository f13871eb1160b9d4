/** Resolves `owner/name:number` to a version: the one look-up of the hot path, cached in the isolate. */
import { accessToModel } from "../../domain/accounts/access.ts";
import { notFound, notVisible, ProblemError } from "../../errors.ts";
import { cached } from "../../storage/cache.ts";
import { type TargetRow, resolveVersion as targetOf } from "../../storage/models/models.ts";
import { findVersion, type VersionRow } from "../../storage/models/versions.ts";
import { requireAccess } from "../accounts/access.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";

export interface ResolvedVersion {
  model: TargetRow;
  version: VersionRow;
}

const MAX_ENTRIES = 2_000;

/** An entry has schemas or variables: usually some kilobytes, at most 100,000 characters. */
const MAX_CHARS = 10_000_000;

const charsOf = (row: TargetRow | VersionRow) => JSON.stringify(row).length;

/** Models that are not private, by `owner/name`. */
const visibleModels = cached(
  { max: MAX_ENTRIES, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, path: string) => {
    const [owner = "", name = ""] = path.split("/", 2);
    return targetOf(db, owner, name, undefined);
  },
);

/** Private models, by their owner's id and `owner/name`. */
const privateModels = cached(
  { max: MAX_ENTRIES, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, key: string) => {
    const [userId = "", owner = "", name = ""] = key.split("/", 3);
    return targetOf(db, owner, name, userId);
  },
);

const ownKey = ({ user_id }: Caller, path: string) => `${user_id}/${path}`;

/**
 * Private models are cached separately, so that for other users one takes the same look-ups, and the
 * same time, as a model that does not exist.
 */
const findModel = async (services: Services, caller: Caller, path: string) =>
  privateModels.known(ownKey(caller, path)) ??
  (await visibleModels.get(services, path)) ??
  (await privateModels.get(services, ownKey(caller, path)));

/** By `model id:number`. */
const versions = cached(
  { max: MAX_ENTRIES, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, key: string) => {
    const [modelId = "", number] = key.split(":", 2);
    return findVersion(db, modelId, Number(number));
  },
);

/**
 * The version that `owner/name` or `owner/name:number` refers to, if the caller may run it.
 * @throws ProblemError not_found, also if the caller may not see it; forbidden if it is outside the
 * token's scope
 */
export async function resolveVersion(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<ResolvedVersion> {
  const [path = "", number] = reference.split(":", 2);
  const model = await findModel(services, caller, path);
  const what = `The model '${path}'`;
  if (!model) throw notVisible(what);
  await requireAccess(services, caller, accessToModel(caller, model, "run"), what);
  const version =
    number === undefined
      ? model.latest_version
      : await versions.get(services, `${model.id}:${number}`);
  if (version) return { model, version };
  if (number !== undefined) throw versionNotFound(path, number);
  const detail = `The model '${path}' has no version yet: its owner publishes one with POST /v1/models/${path}/versions.`;
  throw new ProblemError("not_found", detail);
}

/** @param path `owner/name` */
export const versionNotFound = (path: string, number: number | string) =>
  notFound(
    `The version '${path}:${number}'`,
    `GET /v1/models/${path}/versions lists its versions.`,
  );

// After a change: this isolate sees it at once, others when their entry expires.

export function forgetModel(caller: Caller, owner: string, name: string): void {
  visibleModels.forget(`${owner}/${name}`);
  privateModels.forget(ownKey(caller, `${owner}/${name}`));
}

export const forgetVersion = (modelId: string, number: number) =>
  versions.forget(`${modelId}:${number}`);

/** After a user has been renamed: the cache does not know which models are theirs. */
export function forgetModels(): void {
  visibleModels.forgetAll();
  privateModels.forgetAll();
}
