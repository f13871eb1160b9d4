/** What a prediction is to run on: the one look-up of the hot path, remembered in the isolate. */
import { notFound, ProblemError } from "../errors.ts";
import type { Visibility } from "../protocol/model.ts";
import { remembered } from "../storage/cache.ts";
import { type TargetRow, findTarget as targetOf } from "../storage/models.ts";
import { findModelNames } from "../storage/tokens.ts";
import { findVersion, type VersionRow } from "../storage/versions.ts";
import type { Services } from "./services.ts";
import type { Caller } from "./tokens.ts";

export interface Target {
  model: TargetRow;
  version: VersionRow;
}

const MAX = 2_000;

/** Versions bring their schemas along, models their variables: some kilobytes as a rule, up to 100,000 characters each. */
const MAX_CHARS = 10_000_000;

const charsOf = (row: TargetRow | VersionRow) => JSON.stringify(row).length;

const modelRoom = {
  max: MAX,
  sized: { max: MAX_CHARS, of: charsOf },
};

const models = remembered(modelRoom, ({ db }: Services, path: string) => {
  const [owner = "", name = ""] = path.split("/", 2);
  return targetOf(db, owner, name);
});

/** By `model id:number`. */
const versions = remembered(
  { max: MAX, sized: { max: MAX_CHARS, of: charsOf } },
  ({ db }: Services, key: string) => {
    const [modelId = "", number] = key.split(":", 2);
    return findVersion(db, modelId, Number(number));
  },
);

/** Whether somebody may know that a model is there. */
export const mayRead = (
  model: { visibility: Visibility; owner_id: string },
  caller: Caller | undefined,
): boolean => model.visibility !== "private" || model.owner_id === caller?.user_id;

/**
 * The version that `owner/name` or `owner/name:number` means, for somebody who may run it.
 * @throws ProblemError not_found, also for what the caller may not see; forbidden for what their
 * token is not for
 */
export async function findTarget(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<Target> {
  const [path = "", number] = reference.split(":", 2);
  const model = await models.get(services, path);
  if (!model || !mayRead(model, caller)) throw notFound(`The model '${path}'`);
  if (caller.models && !caller.models.includes(model.id))
    throw await notFor(services, caller, path);
  const version =
    number === undefined
      ? model.latest_version
      : await versions.get(services, `${model.id}:${number}`);
  if (version) return { model, version };
  if (number !== undefined) throw notFound(`The version '${reference}'`);
  throw notFound(`A version of '${path}': publish one with POST /v1/models/${path}/versions. It`);
}

async function notFor({ db }: Services, { token_id }: Caller, path: string) {
  const names = (await findModelNames(db, token_id))?.models ?? [];
  const may =
    names.length > 0
      ? `may run ${names.toSorted().join(", ")} only`
      : "was for models that are gone, and may run no others";
  return new ProblemError(
    "forbidden",
    `This token ${may}. To run ${path}, make one that may, at /tokens.`,
  );
}

// After a change: this isolate knows it at once, the others within the time that they remember.

export const forgetModel = (owner: string, name: string) => models.forget(`${owner}/${name}`);

export const forgetVersion = (modelId: string, number: number) =>
  versions.forget(`${modelId}:${number}`);

/** After a user has another name: which of the models are theirs is not known here. */
export const forgetModels = models.forgetAll;
