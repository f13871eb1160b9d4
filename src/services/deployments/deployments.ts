/** Deployments: reading, listing and changing them. Each change makes a release. */
import { v7 as uuid } from "uuid";
import { accessToModel, type ModelUse } from "../../domain/accounts/access.ts";
import { notVisible } from "../../errors/errors.ts";
import type {
  CreateDeployment,
  Deployment,
  Release,
  UpdateDeployment,
} from "../../protocol/deployment.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { failedOn, isDuplicate, isLimitReached } from "../../storage/database.ts";
import {
  type DeploymentRow,
  deleteDeployment as deleteRow,
  findCurrentReleases,
  findDeployment,
  listDeployments as findDeployments,
  findLastNumber,
  findRelease,
  insertDeployment,
  insertRelease,
  isOutdated,
  type NewRelease,
  type ReleaseItemRow,
  listReleases as releasesOf,
} from "../../storage/deployments/deployments.ts";
import type { Keyset } from "../../storage/keyset.ts";
import { type Caller, requireAccess, requireAccountAccess } from "../access/access.ts";
import { quotaOf } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, pagesOf, paginate } from "../pagination.ts";
import { forgetDeployment } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import {
  auditedSettings,
  isSame,
  type ReleaseSettings,
  releaseSettings,
  withinGrant,
} from "./releases.ts";

/** Deployments of an account. */
const MAX_DEPLOYMENTS = 100;

/** Deployments that are read at once. */
const PAGE = 50;

/** How often a change is made again that another one has overtaken. */
const MAX_TRIES = 5;

export type Place = [owner: string, name: string];

/** A deployment, with the releases that run and start. */
export interface DetailedDeployment {
  deployment: DeploymentRow;
  current: ReleaseItemRow | undefined;
  next: ReleaseItemRow | undefined;
}

/** @throws ProblemError not_found, also for a deployment of another account; forbidden */
export async function findOwn(
  services: Services,
  caller: Caller,
  [owner, name]: Place,
  use: ModelUse,
): Promise<DetailedDeployment> {
  const what = `The deployment '${owner}/${name}'`;
  const row = await findDeployment(services.db, owner, name, caller.user_id);
  if (!row) throw notVisible(what);
  const [detailed] = await withReleases(services, row.owner_id, [row]);
  if (!detailed) throw notVisible(what);
  const model_id = newestOf(detailed)?.model_id ?? "";
  // A token that is limited to some models covers the deployments that run them.
  const model = {
    id: model_id,
    owner_id: row.owner_id,
    visibility: "private",
    level: null,
  } as const;
  await requireAccess(services, caller, accessToModel(caller, model, use), what);
  return detailed;
}

export const newestOf = ({ current, next }: DetailedDeployment) => next ?? current;

async function withReleases(
  { db }: Services,
  ownerId: string,
  rows: DeploymentRow[],
): Promise<DetailedDeployment[]> {
  const ids = rows.map(({ id }) => id);
  const found = ids.length === 0 ? [] : await findCurrentReleases(db, ownerId, ids);
  return rows.map((deployment) => {
    const release = (number: number | null) =>
      found.find((row) => row.deployment_id === deployment.id && row.number === number);
    return {
      deployment,
      current: release(deployment.release),
      next: release(deployment.next_release),
    };
  });
}

/** @throws ProblemError not_found, forbidden */
export const readDeployment = (services: Services, caller: Caller, place: Place) =>
  findOwn(services, caller, place, "read");

/** Lists the deployments of the caller's account, newest first; only those that the token covers. */
export const listDeployments = async (
  services: Services,
  caller: Caller,
  request: PageRequest,
): Promise<Page<DetailedDeployment>> => {
  const page = await paginate(services, request, {
    name: `deployments/${caller.user_id}`,
    find: (keyset) => findDeployments(services.db, caller.user_id, caller.models, keyset),
    keyOf: ({ id }) => [id],
    present: (row) => row,
  });
  return { ...page, items: await withReleases(services, caller.user_id, page.items) };
};

/** Returns all deployments of an account, newest first. */
export async function* deploymentsOf(
  services: Services,
  userId: string,
): AsyncGenerator<Deployment> {
  const find = (keyset: Keyset) => findDeployments(services.db, userId, null, keyset);
  for await (const rows of pagesOf(PAGE, find, ({ id }) => [id]))
    yield* (await withReleases(services, userId, rows)).map(presentDeployment);
}

/** Lists the releases of a deployment, newest first. @throws ProblemError not_found, forbidden */
export async function listReleases(
  services: Services,
  caller: Caller,
  place: Place,
  request: PageRequest,
): Promise<Page<Release>> {
  const { deployment } = await findOwn(services, caller, place, "read");
  return paginate(services, request, {
    name: `releases/${deployment.id}`,
    find: (keyset) => releasesOf(services.db, deployment, keyset),
    keyOf: ({ number }) => [number],
    present: (row) => presentRelease(deployment, row),
  });
}

/** @throws ProblemError not_found for the model, conflict, forbidden; ValidationFailure */
export async function createDeployment(
  services: Services,
  caller: Caller,
  { name, ...request }: CreateDeployment,
): Promise<DetailedDeployment> {
  await requireAccountAccess(services, caller, "New deployments", "developer");
  const owner = await findUser(services.db, caller.user_id);
  if (!owner) throw notVisible("The account");
  const settings = await releaseSettings(services, caller, request, undefined);
  const row = { id: uuid(), owner_id: owner.id, name, created_at: Date.now() };
  const release = releaseOf(caller, row.id, 1, settings);
  const entry = auditEntry({
    action: "deployment.created",
    ...ofDeployment({ ...row, owner }),
    after: auditedSettings(settings),
  });
  const allowance = quotaOf(services, owner.id);
  const inserting = insertDeployment(services.db, row, release, true, {
    max: MAX_DEPLOYMENTS,
    ...{ allowance, entry },
  });
  const unlessModel = orConflict(
    withinGrant(services, owner.id, release, inserting),
    (error) => failedOn(error, "UNIQUE", "models.name"),
    `You have a model '${name}', and models and deployments share their names. Choose another name.`,
  );
  await orConflict(
    orConflict(unlessModel, isDuplicate, `You already have a deployment '${name}'.`),
    isLimitReached,
    `An account can have at most ${MAX_DEPLOYMENTS} deployments. Delete one.`,
  );
  return readDeployment(services, caller, [owner.username, name]);
}

/**
 * Changes a deployment: makes a release, unless nothing changes.
 * @throws ProblemError not_found, forbidden, conflict; ValidationFailure
 */
export async function updateDeployment(
  services: Services,
  caller: Caller,
  place: Place,
  changes: UpdateDeployment,
): Promise<DetailedDeployment> {
  await release(services, caller, place, (base) =>
    releaseSettings(services, caller, changes, base),
  );
  return readDeployment(services, caller, place);
}

/**
 * Makes the next release from the newest one. If another change comes first, it is made again on top of that one.
 * @param settingsFrom returns what it runs
 */
async function release(
  services: Services,
  caller: Caller,
  place: Place,
  settingsFrom: (base: ReleaseItemRow) => Promise<ReleaseSettings>,
): Promise<void> {
  const { db } = services;
  for (let tries = 1; ; tries++) {
    const detailed = await findOwn(services, caller, place, "change");
    const { deployment } = detailed;
    const base =
      newestOf(detailed) ??
      (await findRelease(db, deployment, await findLastNumber(db, deployment.id)));
    if (!base) throw new Error(`deployment ${deployment.id} has no release`);
    const settings = await settingsFrom(base);
    if (isSame(settings, base)) return;
    const number = (await findLastNumber(db, deployment.id)) + 1;
    const made = releaseOf(caller, deployment.id, number, settings);
    const entry = auditEntry({
      action: "deployment.updated",
      ...ofDeployment(deployment),
      before: { release: base.number, ...auditedSettings(base) },
      after: { release: number, ...auditedSettings(settings) },
    });
    const allowance = quotaOf(services, deployment.owner_id);
    const inserting = insertRelease(db, deployment.owner_id, made, true, { allowance, entry });
    try {
      await withinGrant(services, deployment.owner_id, made, inserting);
      forgetDeployment(caller, ...place);
      return;
    } catch (error) {
      if (!isOutdated(error) || tries === MAX_TRIES) throw error;
    }
  }
}

const releaseOf = (
  { maker, token_id, user_id }: Caller,
  deployment_id: string,
  number: number,
  settings: ReleaseSettings,
): NewRelease => ({
  ...settings,
  deployment_id,
  number,
  created_at: Date.now(),
  created_by: maker === token_id ? null : maker || user_id,
});

/** @throws ProblemError not_found, forbidden */
export async function deleteDeployment(
  services: Services,
  caller: Caller,
  place: Place,
): Promise<void> {
  const { deployment } = await findOwn(services, caller, place, "change");
  const entry = auditEntry({ action: "deployment.deleted", ...ofDeployment(deployment) });
  await deleteRow(services.db, deployment.id, entry);
  forgetDeployment(caller, ...place);
}

/** The account and the target of an entry of the audit log about a deployment. */
const ofDeployment = ({
  id,
  owner_id,
  name,
  owner,
}: Pick<DeploymentRow, "id" | "owner_id" | "name"> & { owner: { username: string } }) => ({
  account_id: owner_id,
  targets: [{ type: "deployment", id, name: `${owner.username}/${name}` }],
});

const timestamp = (ms: number) => new Date(ms).toISOString();

export function presentDeployment(detailed: DetailedDeployment): Deployment {
  const { deployment, current, next } = detailed;
  return {
    owner: deployment.owner.username,
    name: deployment.name,
    created_at: timestamp(deployment.created_at),
    current_release: current ? presentRelease(deployment, current) : null,
    next_release: next ? presentRelease(deployment, next) : null,
    status: {
      ready: 0,
      starting: 0,
      wanted: newestOf(detailed)?.min_instances ?? 0,
      blocked_by: null,
      reason: null,
    },
  };
}

const presentRelease = ({ owner }: DeploymentRow, row: ReleaseItemRow): Release => {
  const { kind, username, name } = row.creator ?? owner;
  return {
    number: row.number,
    model: row.model,
    version: row.version_number,
    created_at: timestamp(row.created_at),
    created_by: { type: kind, username, name },
    configuration: {
      hardware: row.hardware_identifier,
      min_instances: row.min_instances,
      max_instances: row.max_instances,
      idle_seconds: row.idle_seconds,
      max_concurrency: row.max_concurrency,
      priority: row.priority,
      probe: row.probe,
      fallbacks: row.fallbacks,
    },
    ended_at: row.ended_at === null ? null : timestamp(row.ended_at),
    failure: row.failure,
  };
};
