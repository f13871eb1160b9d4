/** What a prediction is to run on: the one look-up of the hot path, cached in the isolate. */
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

const MAX = 2_000;

/** Versions bring their schemas along, models their variables: some kilobytes as a rule, up to 100,000 characters each. */
const MAX_CHARS = 10_000_000;

const charsOf = (row: TargetRow | VersionRow) => JSON.stringify(row).length;

/** Models that are not private, by `owner/name`. */
const shown = cached(
  { max: MAX, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, path: string) => {
    const [owner = "", name = ""] = path.split("/", 2);
    return targetOf(db, owner, name, undefined);
  },
);

/** Private ones, by their owner's id and `owner/name`. */
const own = cached(
  { max: MAX, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, key: string) => {
    const [userId = "", owner = "", name = ""] = key.split("/", 3);
    return targetOf(db, owner, name, userId);
  },
);

const ownKey = ({ user_id }: Caller, path: string) => `${user_id}/${path}`;

/**
 * Remembered apart, and looked for apart: for somebody else a private model, however well its owner's
 * isolates know it, takes the look-ups that one takes which is not there.
 */
const findModel = async (services: Services, caller: Caller, path: string) =>
  own.known(ownKey(caller, path)) ??
  (await shown.get(services, path)) ??
  (await own.get(services, ownKey(caller, path)));

/** By `model id:number`. */
const versions = cached(
  { max: MAX, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, key: string) => {
    const [modelId = "", number] = key.split(":", 2);
    return findVersion(db, modelId, Number(number));
  },
);

/**
 * The version that `owner/name` or `owner/name:number` means, for somebody who may run it.
 * @throws ProblemError not_found, also for what the caller may not see; forbidden for what their
 * token is not for
 */
export async function findTarget(
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
  if (number !== undefined) throw noVersion(path, number);
  const detail = `The model '${path}' has no version yet: its owner publishes one with POST /v1/models/${path}/versions.`;
  throw new ProblemError("not_found", detail);
}

/** @param path `owner/name` */
export const noVersion = (path: string, number: number | string) =>
  notFound(
    `The version '${path}:${number}'`,
    `GET /v1/models/${path}/versions lists what there is.`,
  );

// After a change: this isolate knows it at once, the others within the time that they remember.

export function forgetModel(caller: Caller, owner: string, name: string): void {
  shown.forget(`${owner}/${name}`);
  own.forget(ownKey(caller, `${owner}/${name}`));
}

export const forgetVersion = (modelId: string, number: number) =>
  versions.forget(`${modelId}:${number}`);

/** After a user has another name: which of the models are theirs is not known here. */
export function forgetModels(): void {
  shown.forgetAll();
  own.forgetAll();
}
