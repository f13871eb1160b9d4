/**
 * Tells pools the capacity claims of deployments, and starts the containers that these lack. The sweep repeats it
 * every minute, so a claim is met again whatever was lost.
 */
import { pickVariables } from "../../domain/models/variables.ts";
import { isolationKeys } from "../../domain/scheduling/isolation.ts";
import { logger } from "../../log.ts";
import type { CapacityClaim, CapacityClaimStatus } from "../../objects/stubs/pool.ts";
import { type Configuration, DEFAULT_ISOLATION } from "../../protocol/model.ts";
import type { StartMessage } from "../../protocol/queue.ts";
import {
  awaitProbe,
  findKeyed,
  findProbe,
  listPools,
  listTold,
  recordFailed,
  recordStarted,
  reserveStart,
  type ToldRow,
} from "../../storage/deployments/claims.ts";
import { maxConcurrencyOf } from "../predictions/prediction-spec.ts";
import { forgetDeployments } from "../predictions/version-resolution.ts";
import { findMadePools } from "../runners/pools.ts";
import type { Services } from "../services.ts";
import { PROBE_MS, startContainer } from "./starts.ts";

/** Containers that are started of a release at once. */
const STARTS = 10;

/** Versions whose variables are in memory at once, since those of a model have up to 128 KB. */
const KEYED = 20;

interface KeyFacts {
  deployment_id: string;
  owner_id: string;
  model_id: string;
  version_number: number;
  hardware: { identifier: string; gpus: number };
  max_concurrency: number | null;
  variables: Record<string, string>;
  configuration: Configuration;
}

/** Returns the key of a release's containers: that of its predictions (services/predictions/prediction-spec.ts). */
export async function containerKeyOf({ settings }: Services, facts: KeyFacts): Promise<string> {
  const { configuration, deployment_id, owner_id, ...run } = facts;
  const max_concurrency = maxConcurrencyOf(configuration, facts.max_concurrency);
  const { container } = await isolationKeys(settings.secretKeys.at(-1) ?? "", {
    ...run,
    variables: pickVariables(configuration.variable_names, facts.variables),
    isolation: configuration.isolation ?? DEFAULT_ISOLATION,
    user_id: owner_id,
    prediction_id: "",
    deployment: { id: deployment_id, max_concurrency },
  });
  return container;
}

/** A release that a pool is told of, and the containers that it may claim. */
interface Told extends ToldRow {
  min: number;
}

/**
 * Limits claims to the grants of their accounts: the oldest deployments come first. The release before has the room
 * of the one that runs once more, and what is left when all of these have theirs, until the next release starts.
 */
function withinGrants(rows: ToldRow[]): Told[] {
  const left = new Map<string, number>();
  const take = ({ owner_id, hardware, granted }: ToldRow, wanted: number): number => {
    const account = `${owner_id} ${hardware}`;
    const rest = left.get(account) ?? granted;
    left.set(account, rest - Math.min(rest, wanted));
    return Math.min(rest, wanted);
  };
  const isBefore = ({ number, current, next }: ToldRow) => ![current, next].includes(number);
  const isNext = ({ number, next }: ToldRow) => number === next;
  const stopped = rows.filter((row) => isNext(row) && row.room === "stop");
  const isStopped = ({ deployment_id, number, current }: ToldRow) =>
    number === current && stopped.some((row) => row.deployment_id === deployment_id);
  const nameOfClass = (row: ToldRow) => `${row.deployment_id} ${row.hardware}`;
  const taken = new Map<string, number>();
  for (const row of rows.filter((row) => !isBefore(row))) {
    const name = nameOfClass(row);
    const own = taken.get(name) ?? 0;
    taken.set(name, own + take(row, Math.max(0, row.min_instances - own)));
  }
  const isPassed = (row: ToldRow) => isBefore(row) && row.next !== null;
  return rows.map((row) => {
    if (isStopped(row) || isPassed(row)) return { ...row, min: 0 };
    const own = taken.get(nameOfClass(row)) ?? 0;
    const more = isBefore(row) ? take(row, Math.max(0, row.min_instances - own)) : 0;
    return { ...row, min: Math.min(row.min_instances, own + more) };
  });
}

const nameOf = (deployment_id: string, release: number) => `${deployment_id}:${release}`;

/**
 * Tells pools all of their claims, also those that have none left.
 * @param pool this one only
 * @returns what was told, with the state of each claim, unless its pool could not be asked
 */
export async function tellPools(services: Services, now: number, pool?: string) {
  const { db } = services;
  const names = pool === undefined ? await listPools(db) : [pool];
  const told = withinGrants(names.length === 0 ? [] : await listTold(db, now, { pool }));
  const claims = await claimsOf(services, told);
  const pools = names.length === 0 ? [] : await findMadePools(services, names);
  const statuses = await Promise.all(
    pools.map(async ({ name, pool: stub }) => {
      const own = claims.filter((one) => one.pool === name).map(({ claim }) => claim);
      return stub.setCapacityClaims(own).catch((error: unknown) => {
        logger.warn("Capacity claims not told", { pool: name, error });
        return [];
      });
    }),
  );
  return { told, statuses: byRelease(statuses.flat()) };
}

/** Asks pools for the state of an account's claims, without telling them any. @param pool this one only */
export async function askPools(services: Services, owner_id: string, pool?: string) {
  const told = withinGrants(await listTold(services.db, Date.now(), { pool, owner_id }));
  const pools = await findMadePools(services, [...new Set(told.map((row) => row.pool))]);
  const statuses = await Promise.all(
    pools.map(({ name, pool: stub }) =>
      stub.capacityStatuses(owner_id).catch((error: unknown) => {
        logger.warn("Capacity claims not asked for", { pool: name, error });
        return [];
      }),
    ),
  );
  return { told, statuses: byRelease(statuses.flat()) };
}

const byRelease = (statuses: CapacityClaimStatus[]) =>
  new Map(statuses.map((one) => [nameOf(one.deployment_id, one.release), one]));

/** Returns the claims of releases, in their order: pools keep what they are told if it is the same. */
async function claimsOf(
  services: Services,
  told: Told[],
): Promise<{ pool: string; claim: CapacityClaim }[]> {
  const byVersion = Map.groupBy(told, versionOf);
  const versions = [...byVersion.values()].flatMap(([first]) => (first ? [first] : []));
  const keys = new Map<Told, string>();
  for (let at = 0; at < versions.length; at += KEYED)
    for (const keyed of await findKeyed(services.db, versions.slice(at, at + KEYED)))
      for (const row of byVersion.get(versionOf(keyed)) ?? []) {
        const hardware = { identifier: row.hardware, gpus: row.gpus };
        keys.set(row, await containerKeyOf(services, { ...row, ...keyed, hardware }));
      }
  return told.flatMap((row) => {
    const container_key = keys.get(row);
    if (container_key === undefined) return [];
    const { deployment_id, number, owner_id, hardware, gpus, min, max_instances: max } = row;
    const claim = { deployment_id, release: number, owner_id, hardware, gpus };
    return [{ pool: row.pool, claim: { ...claim, container_key, min, max } }];
  });
}

const versionOf = ({ model_id, version_number }: Pick<Told, "model_id" | "version_number">) =>
  `${model_id}:${version_number}`;

export type Statuses = Awaited<ReturnType<typeof tellPools>>;

/** Returns the state of a release's claim, and how many containers it may claim. */
export const statusIn = ({ told, statuses }: Statuses, deployment_id: string, release: number) => ({
  min: told.find((row) => row.deployment_id === deployment_id && row.number === release)?.min,
  status: statuses.get(nameOf(deployment_id, release)),
});

/** Tells pools their claims, and starts the containers that they lack. @param pool this one only */
export async function sweepDeployments(
  services: Services,
  now: number,
  pool?: string,
): Promise<void> {
  const found = await tellPools(services, now, pool);
  // A release that shall take over comes before the one that runs: the room may not be enough for both.
  const rows = found.told.toSorted((a, b) => b.number - a.number);
  for (const row of rows) {
    const { status } = statusIn(found, row.deployment_id, row.number);
    if (!status) continue;
    // A deployment whose start cannot be made does not hold up the others.
    await start(services, row, status, now).catch((error) =>
      logger.warn("Deployment not started", { deployment_id: row.deployment_id, error }),
    );
  }
}

async function start(
  services: Services,
  row: Told,
  { ready, missing }: CapacityClaimStatus,
  now: number,
): Promise<void> {
  const { db } = services;
  const { deployment_id, number, next, current, has_probe } = row;
  const isNext = number === next;
  if (!isNext && number !== current) return;
  // The message that a container has started may be lost.
  if (isNext && !has_probe && ready > 0) return recordStarted(db, deployment_id, number, now);
  if ((row.start_after ?? 0) > now) return;
  if (isNext && has_probe) {
    if (!(await reserveStart(db, row, now))) return;
    const probe = await findProbe(db, deployment_id, number);
    if (probe && (await startContainer(services, row, probe)))
      await awaitProbe(db, deployment_id, number, now + PROBE_MS);
    return;
  }
  if (missing === 0 || !(await reserveStart(db, row, now))) return;
  const starts = Array.from({ length: Math.min(missing, STARTS) });
  await Promise.all(starts.map(() => startContainer(services, row, null)));
}

/** Tells pools of a change, which has been made: what fails here is made up for by the next sweep. */
export async function tellOfChange(services: Services, pools: string[]): Promise<void> {
  for (const pool of pools)
    await sweepDeployments(services, Date.now(), pool).catch((error) =>
      logger.warn("Change of a deployment not told", { pool, error }),
    );
}

/**
 * Records the end of a start: a release that was to take over does, or is given up. Then the containers that still
 * lack are started, also those of a release that made room for one that has failed.
 */
export async function endStart(
  services: Services,
  { deployment_id, release, failure }: StartMessage,
): Promise<void> {
  const now = Date.now();
  if (failure !== null) await recordFailed(services.db, deployment_id, release, failure, now);
  else await recordStarted(services.db, deployment_id, release, now);
  forgetDeployments();
  // A message that is delivered again would count its start twice.
  await listPools(services.db, deployment_id)
    .then((pools) => tellOfChange(services, pools))
    .catch((error) => logger.warn("End of a start not told", { deployment_id, error }));
}
