/** Changes of deployments: each makes a release. */
import { v7 as uuid } from "uuid";
import { conflict, notVisible } from "../../errors/errors.ts";
import type { CreateDeployment, Displaced, UpdateDeployment } from "../../protocol/deployment.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { failedOn, isDuplicate, isLimitReached } from "../../storage/database.ts";
import { listPools } from "../../storage/deployments/claims.ts";
import {
  findLastNumber,
  findRelease,
  giveUpNext,
  insertDeployment,
  insertRelease,
  isOutdated,
  type NewRelease,
  type ReleaseItemRow,
} from "../../storage/deployments/deployments.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import { quotaOf } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { forgetDeployment } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { tellOfChange } from "./claims.ts";
import { findOwn, ofDeployment, type Place, readDeployment } from "./deployments.ts";
import { type DetailedDeployment, newestOf } from "./present.ts";
import {
  auditedSettings,
  isSame,
  type Planned,
  releaseSettings,
  requireGrant,
  requireProbe,
  settingsIn,
  withinGrant,
} from "./releases.ts";
import { type Plan, planRoom } from "./room.ts";
import { cancelStarts } from "./starts.ts";

/** Deployments of an account. */
const MAX_DEPLOYMENTS = 100;

/** How often a change is made again that another one has overtaken. */
const MAX_TRIES = 5;

export interface ChangeOptions {
  /** Whether the change is only checked. */
  dry_run: boolean;
  /** Whether the release may stop the one that runs before it has started. */
  allow_downtime: boolean;
}

/** A deployment after a change, or as it would be, and what its containers displace. */
export interface Changed {
  detailed: DetailedDeployment;
  displaces: Displaced[];
}

/** @throws ProblemError not_found for the model, conflict, forbidden; ValidationFailure */
export async function createDeployment(
  services: Services,
  caller: Caller,
  { name, ...request }: CreateDeployment,
  options: ChangeOptions,
): Promise<Changed> {
  await requireAccountAccess(services, caller, "New deployments", "developer");
  const owner = await findUser(services.db, caller.user_id);
  if (!owner) throw notVisible("The account");
  const planned = await releaseSettings(services, caller, request, undefined);
  await requireProbe(services, caller, planned.settings);
  const row = { id: uuid(), owner_id: owner.id, name, created_at: Date.now() };
  const plan = await planRoom(services, row, planned, undefined, options);
  const release = releaseOf(caller, row.id, 1, planned, plan);
  if (options.dry_run) {
    await requireGrant(services, owner.id, release);
    const deployment = { ...NEW, ...row, owner };
    return wouldBe({ deployment, current: undefined, next: undefined }, release, planned, plan);
  }
  const entry = auditEntry({
    action: "deployment.created",
    ...ofDeployment({ ...row, owner }),
    after: auditedSettings(planned.settings),
  });
  const allowance = quotaOf(services, owner.id);
  const inserting = insertDeployment(services.db, row, release, plan.atOnce, {
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
  await tellOfChange(services, await listPools(services.db, row.id));
  const detailed = await readDeployment(services, caller, [owner.username, name]);
  return { detailed, displaces: plan.displaces };
}

const NEW = {
  ...{ release: 0, next_release: null, previous_release: null, previous_until: null },
  ...{ next_after: null, start_failures: 0, start_after: null, start_failure: null },
  ...{ starts: 0, starts_since: null },
};

/** Returns the deployment as it would be after a change. */
function wouldBe(
  before: DetailedDeployment,
  made: NewRelease,
  { target: { model } }: Planned,
  { atOnce, displaces, pool }: Plan,
): Changed {
  const release: ReleaseItemRow = {
    ...made,
    ...{ ended_at: null, failure: null, pool, creator: null },
    model: `${model.owner}/${model.name}`,
  };
  const after = atOnce ? { current: release, next: undefined } : { next: release };
  return { detailed: { ...before, ...after }, displaces };
}

/**
 * Changes a deployment: makes a release, unless nothing changes.
 * @throws ProblemError not_found, forbidden, conflict; ValidationFailure
 */
export const updateDeployment = (
  services: Services,
  caller: Caller,
  place: Place,
  changes: UpdateDeployment,
  options: ChangeOptions,
): Promise<Changed> =>
  makeRelease(services, caller, place, options, async (detailed, last) => {
    const planned = await releaseSettings(services, caller, changes, last);
    const { deployment, current } = detailed;
    if (isSame(planned.settings, last)) return undefined;
    await requireProbe(services, caller, planned.settings);
    return {
      planned,
      plan: await planRoom(services, deployment, planned, current, options),
    };
  });

/**
 * Goes back at once: gives up the release that is starting, or else makes a release of the settings before.
 * @throws ProblemError not_found, forbidden; conflict if there is no release before
 */
export async function rollBack(
  services: Services,
  caller: Caller,
  place: Place,
): Promise<DetailedDeployment> {
  const { deployment, next } = await findOwn(services, caller, place, "change");
  if (next && deployment.release > 0) {
    const entry = auditEntry({
      action: "deployment.updated",
      ...ofDeployment(deployment),
      before: { release: next.number },
      after: { release: deployment.release },
    });
    if (await giveUpNext(services.db, deployment, Date.now(), entry)) {
      await cancelStarts(services, deployment, { number: deployment.release });
      await tellOfChange(services, await listPools(services.db, deployment.id));
      return readDeployment(services, caller, place);
    }
  }
  // Another change may come first: the release to go back to is the one that the caller has seen.
  const number = next && deployment.release > 0 ? deployment.release : deployment.previous_release;
  const options = { dry_run: false, allow_downtime: true };
  const changed = await makeRelease(
    services,
    caller,
    place,
    options,
    async ({ deployment, current }) => {
      const previous = number && (await findRelease(services.db, deployment, number));
      if (!previous) throw conflict("There is no release before this one to go back to.");
      if (current && isSame(previous, current)) return undefined;
      const { model, version_number: version } = previous;
      const base = { ...previous, ...settingsIn(previous) };
      const named = model === null ? {} : { model, version };
      const planned = await releaseSettings(services, caller, named, base);
      const back = { ...options, isRollBack: true };
      return { planned, plan: await planRoom(services, deployment, planned, current, back) };
    },
  );
  return changed.detailed;
}

type Make = (
  detailed: DetailedDeployment,
  last: ReleaseItemRow,
) => Promise<{ planned: Planned; plan: Plan } | undefined>;

/**
 * Makes the next release. If another change comes first, it is made again on top of that one.
 * @param make returns what it runs, from the newest release; undefined: nothing changes
 */
async function makeRelease(
  services: Services,
  caller: Caller,
  place: Place,
  { dry_run }: ChangeOptions,
  make: Make,
): Promise<Changed> {
  const { db } = services;
  for (let tries = 1; ; tries++) {
    const detailed = await findOwn(services, caller, place, "change");
    const { deployment } = detailed;
    const number = await findLastNumber(db, deployment.id);
    const last = newestOf(detailed) ?? (await findRelease(db, deployment, number));
    // The deployment has been deleted since it was read.
    if (!last) throw notVisible(`The deployment '${place.join("/")}'`);
    const made = await make(detailed, last);
    if (!made) return { detailed, displaces: [] };
    const { planned, plan } = made;
    const release = releaseOf(caller, deployment.id, number + 1, planned, plan);
    if (dry_run) {
      await requireGrant(services, deployment.owner_id, release);
      return wouldBe(detailed, release, planned, plan);
    }
    const entry = auditEntry({
      action: "deployment.updated",
      ...ofDeployment(deployment),
      before: { release: last.number, ...auditedSettings(last) },
      after: { release: release.number, ...auditedSettings(planned.settings) },
    });
    const allowance = quotaOf(services, deployment.owner_id);
    const inserting = insertRelease(db, deployment.owner_id, release, plan.atOnce, {
      ...{ allowance, entry },
    });
    try {
      await withinGrant(services, deployment.owner_id, release, inserting);
    } catch (error) {
      if (!isOutdated(error) || tries === MAX_TRIES) throw error;
      continue;
    }
    forgetDeployment(caller, ...place);
    await tellOfChange(services, await listPools(db, deployment.id));
    const after = await readDeployment(services, caller, place);
    await cancelStarts(services, deployment, after.current, after.next);
    return { detailed: after, displaces: plan.displaces };
  }
}

const releaseOf = (
  { maker, token_id, user_id }: Caller,
  deployment_id: string,
  number: number,
  { settings }: Planned,
  { room }: Plan,
): NewRelease => ({
  ...settings,
  ...{ deployment_id, number, room },
  created_at: Date.now(),
  created_by: maker === token_id ? null : maker || user_id,
});
