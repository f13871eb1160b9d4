/** Resolves `owner/name:number`, or a deployment, to a version: the only look-up of the hot path, cached in the isolate. */
import { accessToModel } from "../../domain/accounts/access.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import { conflict, notFound, notVisible, ProblemError } from "../../errors/errors.ts";
import { selectBudgeted } from "../../storage/accounts/budgeted.ts";
import { findToken, selectToken, userOfToken } from "../../storage/accounts/tokens.ts";
import { cache } from "../../storage/cache.ts";
import {
  type Deployed,
  type DeploymentName,
  isReleased,
  selectDeployed,
} from "../../storage/deployments/targets.ts";
import {
  selectTarget,
  type TargetName,
  type TargetRow,
  type TargetVersionRow,
} from "../../storage/models/targets.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { factsOf, loadingFacts } from "../../storage/webhooks/account-facts.ts";
import { selectEnabled } from "../../storage/webhooks/endpoints.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import type { Services } from "../services.ts";

export interface ResolvedVersion {
  model: TargetRow;
  version: TargetVersionRow;
  /** The deployment that was named, whose settings replace the version's. */
  deployment?: Deployed;
}

/** A version that answers if those before it cannot. */
export interface ResolvedFallback {
  after_seconds: number | null;
  target: ResolvedVersion;
}

/** An entry has schemas or variables: usually some kilobytes, at most 100,000 characters. */
const LIMITS = {
  max: 2_000,
  sized: { max: 10_000_000, of: (row: TargetRow | TargetVersionRow) => JSON.stringify(row).length },
};

/** Models that are not private, by `owner/name`. */
const visibleModels = cache<string, TargetRow>(LIMITS);

/**
 * Private models, by their owner's id and `owner/name`, so that another user's look-up is not faster if the
 * model exists.
 */
const privateModels = cache<string, TargetRow>(LIMITS);

/** Versions, by `model id:number`. */
const versions = cache<string, TargetVersionRow>(LIMITS);

/** Deployments by their owner's id and `owner/name`, with the model and version that they run. */
const deployments = cache<string, { deployment: Deployed; runs: TargetName }>({ max: 2_000 });

const pathOf = ({ owner, name }: Omit<TargetName, "number">) => `${owner}/${name}`;
const privateKey = (userId: string, path: string) => `${userId}/${path}`;
const versionKey = (modelId: string, number: number) => `${modelId}:${number}`;

function targetNameOf(reference: string): TargetName {
  const [path = "", number] = reference.split(":", 2);
  const [owner = "", name = ""] = path.split("/", 2);
  // No version has the number 0.
  return { owner, name, number: number === undefined ? undefined : Number(number) || 0 };
}

/** A model and its version. Undefined: not there, or not known to this isolate. */
interface Target {
  model: TargetRow | undefined;
  version: TargetVersionRow | undefined;
}

/** Returns the default version, which is selected with its model. */
const defaultOf = ({
  default_version,
  default_hardware: hardware,
  default_prices: prices,
}: TargetRow): TargetVersionRow | undefined =>
  default_version ? { ...default_version, hardware, prices } : undefined;

function knownTarget(userId: string, target: TargetName): Target {
  const path = pathOf(target);
  const model = privateModels.known(privateKey(userId, path)) ?? visibleModels.known(path);
  const { number } = target;
  if (!model) return { model, version: undefined };
  const version =
    number === undefined ? defaultOf(model) : versions.known(versionKey(model.id, number));
  return { model, version };
}

/** @returns a function that keeps the rows which `selectTarget` has found for a user */
function loadingTarget(target: TargetName) {
  const [keepVisible, keepPrivate, keepVersion] = [
    visibleModels.loading(),
    privateModels.loading(),
    versions.loading(),
  ];
  return (userId: string, [model]: TargetRow[], [version]: TargetVersionRow[]): Target => {
    const path = pathOf(model ?? target);
    const isPrivate = model?.visibility === "private";
    keepPrivate(privateKey(userId, path), isPrivate ? model : undefined);
    keepVisible(path, isPrivate ? undefined : model);
    if (version) keepVersion(versionKey(version.model_id, version.number), version);
    if (target.number !== undefined) return { model, version };
    return { model, version: model && defaultOf(model) };
  };
}

async function findTarget({ db }: Services, userId: string, target: TargetName): Promise<Target> {
  const known = knownTarget(userId, target);
  if (known.version) return known;
  const keep = loadingTarget(target);
  return keep(userId, ...(await db.batch(selectTarget(db, target, userId))));
}

/**
 * Finds a deployment of the account, with what it runs. It is looked up where no model has the name, so models
 * cost no query more.
 * @throws ProblemError unavailable before its first release has started; not_found when its model is gone
 */
async function findDeployed(
  { db }: Services,
  userId: string,
  target: TargetName,
): Promise<ResolvedVersion | undefined> {
  const path = pathOf(target);
  const key = privateKey(userId, path);
  const known = deployments.known(key);
  const { model: knownModel, version: knownVersion } = known
    ? knownTarget(userId, known.runs)
    : NOTHING;
  if (known && knownModel && knownVersion)
    return { model: knownModel, version: knownVersion, deployment: known.deployment };
  const [keepDeployment, keep] = [deployments.loading(), loadingTarget({ ...target, number: 0 })];
  const named = { owner: target.owner, name: target.name };
  const [[row], models, versions] = await db.batch(selectDeployed(db, named, userId));
  if (!row) return undefined;
  if (!isReleased(row)) {
    const detail = `The deployment '${path}' has not started yet. GET /v1/deployments/${path} says why.`;
    throw new ProblemError("unavailable", detail, { "retry-after": "10" });
  }
  const { model, version } = keep(userId, models, versions);
  if (!model || !version)
    throw new ProblemError(
      "not_found",
      `The version that the deployment '${path}' runs was deleted, or is no longer shared with its account. Give it another one with PATCH /v1/deployments/${path}.`,
    );
  const runs = { owner: model.owner, name: model.name, number: version.number };
  keepDeployment(key, { deployment: row, runs });
  return { model, version, deployment: row };
}

/**
 * Finds what a release runs, which may not be the one that runs now.
 * @returns undefined if its version is gone, or its account may not run it
 */
export async function findRelease(
  { db }: Services,
  userId: string,
  named: DeploymentName,
): Promise<ResolvedVersion | undefined> {
  const [[deployment], [model], [version]] = await db.batch(selectDeployed(db, named, userId));
  if (!deployment || !isReleased(deployment) || !model || !version) return undefined;
  return { model, version, deployment };
}

const NOTHING: Target = { model: undefined, version: undefined };

/** Finds a model, or a deployment of the account: they share their names. Versions have no deployment. */
async function findNamed(
  services: Services,
  userId: string,
  target: TargetName,
): Promise<Target & Pick<ResolvedVersion, "deployment">> {
  if (target.number !== undefined) return findTarget(services, userId, target);
  const isDeployed = deployments.known(privateKey(userId, pathOf(target))) !== undefined;
  const found = isDeployed ? NOTHING : await findTarget(services, userId, target);
  return found.model ? found : ((await findDeployed(services, userId, target)) ?? found);
}

/**
 * Finds the version that `owner/name` or `owner/name:number` refers to, if the caller may run it.
 * @throws ProblemError not_found, also if the caller may not see it; forbidden if it is outside the token's
 * scope
 */
export async function resolveVersion(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<ResolvedVersion> {
  const target = targetNameOf(reference);
  const path = pathOf(target);
  const { model, version, deployment } = await findNamed(services, caller.user_id, target);
  const what = `The model '${path}'`;
  if (!model) throw notVisible(what);
  await requireAccess(services, caller, accessToModel(caller, model, "run"), what);
  if (isBorrowed(caller, model)) caller.runs = { model_id: model.id };
  if (deployment?.max_instances === 0)
    throw conflict(
      `The deployment '${path}' is off. Turn it on with PATCH /v1/deployments/${path}: set max_instances.`,
    );
  if (version) return { model, version, ...(deployment && { deployment }) };
  if (target.number !== undefined) throw versionNotFound(path, target.number);
  const detail = `The model '${path}' has no version. Publish one with POST /v1/models/${path}/versions.`;
  throw new ProblemError("not_found", detail);
}

/**
 * Finds the fallbacks of the deployment that was named. One that the account may not run any more, or whose
 * version does not have the interface of the deployment's, is left out.
 */
export async function resolveFallbacks(
  services: Services,
  caller: Caller,
  { version, deployment }: ResolvedVersion,
): Promise<ResolvedFallback[]> {
  const found = (deployment?.fallbacks ?? []).map(async ({ model, after_seconds }) => {
    // The request runs the deployment's own model (`Caller.runs`).
    const target = await resolveVersion(services, { ...caller }, model).catch((error) => {
      if (error instanceof ProblemError) return undefined;
      throw error;
    });
    const fits = target && !target.deployment && isFallbackFor(version, target.version);
    return fits ? [{ after_seconds, target }] : [];
  });
  const fallbacks = (await Promise.all(found)).flat();
  // Inputs of a version that keeps them on the installation's machines do not leave them behind it.
  let isLocal = version.configuration.local_only;
  return fallbacks.filter(({ target: { version: next } }) => {
    isLocal ||= next.configuration.local_only;
    return !isLocal || next.configuration.remote === undefined;
  });
}

/** Whether a version can answer what another was asked. */
export const isFallbackFor = (
  { configuration: from }: Pick<VersionRow, "configuration">,
  { configuration: to }: Pick<VersionRow, "configuration">,
): boolean => interfaceOf(from) === interfaceOf(to);

/** Whether the model is private and another account's, so that the right to run it can end. */
export const isBorrowed = (
  { user_id }: Pick<Caller, "user_id">,
  { owner_id, visibility }: Pick<TargetRow, "owner_id" | "visibility">,
): boolean => visibility === "private" && owner_id !== user_id;

/**
 * Resolves a reference for callers that need certain compatibilities: until the first start of the default
 * version tells them, `owner/name` means the version before it.
 */
export async function resolveAnswering(
  services: Services,
  caller: Caller,
  reference: string,
  answers: (version: VersionRow) => boolean,
): Promise<ResolvedVersion> {
  const target = await resolveVersion(services, caller, reference);
  const { model, version } = target;
  const isKnown = answers(version) || !version.awaits?.includes("compatibilities");
  if (target.deployment) return target;
  if (isKnown || model.answering_number === null) return target;
  if (targetNameOf(reference).number !== undefined) return target;
  const before = await resolveVersion(services, caller, `${reference}:${model.answering_number}`);
  return answers(before.version) ? before : target;
}

/** @param path `owner/name` */
export const versionNotFound = (path: string, number: number | string) =>
  notFound(
    `The version '${path}:${number}'`,
    `GET /v1/models/${path}/versions lists its versions.`,
  );

// After a change, this isolate forgets its entry at once, and others when theirs expires.

export function forgetModel(caller: Pick<Caller, "user_id">, owner: string, name: string): void {
  visibleModels.forget(`${owner}/${name}`);
  privateModels.forget(privateKey(caller.user_id, `${owner}/${name}`));
}

export const forgetDeployment = (
  caller: Pick<Caller, "user_id">,
  owner: string,
  name: string,
): void => deployments.forget(privateKey(caller.user_id, `${owner}/${name}`));

/** Forgets all deployments, after the release of one has changed whose name is not at hand. */
export const forgetDeployments = () => deployments.forgetAll();

export const forgetVersion = (modelId: string, number: number) =>
  versions.forget(versionKey(modelId, number));

/** Forgets all versions, after a class of hardware has changed. */
export function forgetTargets(): void {
  forgetModels();
  versions.forgetAll();
}

/** Forgets all models, after a user has been renamed: the cache does not know which models are theirs. */
export function forgetModels(): void {
  visibleModels.forgetAll();
  privateModels.forgetAll();
  deployments.forgetAll();
}

/**
 * Finds the token together with all else that a create needs of D1, in one round trip instead of three: each
 * takes up to 0.3 s. The rest is kept for later look-ups. It is selected by
 * the token's user: for a token that does not exist D1 looks up nothing more, whatever it names.
 * @param reference the model and version that are named; undefined: not known yet
 */
export async function findTokenToCreate(
  services: Services,
  hash: string,
  reference: string | undefined,
): ReturnType<typeof findToken> {
  const { db } = services;
  if (reference === undefined) return findToken(db, hash);
  const target = targetNameOf(reference);
  const [keepTarget, keepFacts] = [loadingTarget(target), loadingFacts()];
  const user = userOfToken(hash);
  const [[token], models, versions, endpoints, budgeted] = await db.batch([
    selectToken(db, hash),
    ...selectTarget(db, target, user),
    selectEnabled(db, user),
    selectBudgeted(db, user),
  ]);
  if (!token) return undefined;
  const { user_id } = token;
  keepTarget(user_id, models, versions);
  keepFacts(user_id, factsOf(endpoints, budgeted));
  // A failure is found again, once it is known what the token may do.
  if (!models[0] && target.number === undefined)
    await findDeployed(services, user_id, target).catch(() => {});
  return token;
}
