/** Deployments as their owners see them, with the live state of what they claim. */
import type { Deployment, DeploymentStatus, Release } from "../../protocol/deployment.ts";
import type { DeploymentRow, ReleaseItemRow } from "../../storage/deployments/deployments.ts";
import type { Services } from "../services.ts";
import { askPools, type Statuses, statusIn } from "./claims.ts";

/** A deployment, with the releases that run and start. */
export interface DetailedDeployment {
  deployment: DeploymentRow;
  current: ReleaseItemRow | undefined;
  next: ReleaseItemRow | undefined;
}

export const newestOf = ({ current, next }: DetailedDeployment) => next ?? current;

const timestamp = (ms: number) => new Date(ms).toISOString();

/** Asks pools for the state of an account's deployments that claim containers, and presents all of them. */
export async function presentDeployments(
  services: Services,
  all: DetailedDeployment[],
): Promise<Deployment[]> {
  const claiming = all.map(newestOf).filter((one) => one && one.min_instances > 0);
  const pools = [...new Set(claiming.map((one) => one?.pool ?? undefined))];
  const [only] = pools;
  const [first] = all;
  const statuses =
    pools.length === 0 || !first
      ? NONE
      : await askPools(services, first.deployment.owner_id, pools.length === 1 ? only : undefined);
  return all.map((one) => presentWith(one, statuses));
}

export async function presentDeployment(
  services: Services,
  detailed: DetailedDeployment,
): Promise<Deployment> {
  const [presented] = await presentDeployments(services, [detailed]);
  return presented ?? presentWith(detailed, NONE);
}

export const NONE: Statuses = { told: [], statuses: new Map() };

export function presentWith(detailed: DetailedDeployment, statuses: Statuses): Deployment {
  const { deployment, current, next } = detailed;
  return {
    owner: deployment.owner.username,
    name: deployment.name,
    created_at: timestamp(deployment.created_at),
    current_release: current ? presentRelease(deployment, current) : null,
    next_release: next ? presentRelease(deployment, next) : null,
    status: statusOf(detailed, statuses),
  };
}

function statusOf(detailed: DetailedDeployment, statuses: Statuses): DeploymentStatus {
  const newest = newestOf(detailed);
  const { id, start_failures, start_failure } = detailed.deployment;
  const wanted = newest?.min_instances ?? 0;
  const { min, status } = statusIn(statuses, id, newest?.number ?? 0);
  const { ready = 0, starting = 0, waiting = 0 } = status ?? {};
  const counts = { ready, starting, wanted };
  const blocked = (blocked_by: DeploymentStatus["blocked_by"], reason: string) => ({
    ...counts,
    ...{ blocked_by, reason },
  });
  if (newest && newest.model === null)
    return blocked(
      "model",
      "The model was deleted, or is no longer shared with this account. Choose another model.",
    );
  if (!newest)
    return blocked(
      "failures",
      "No release has started. GET …/releases says why the last one failed. Change the deployment to try again.",
    );
  if (wanted === 0 || ready >= wanted) return { ...counts, blocked_by: null, reason: null };
  const hardware = `'${newest.hardware_identifier}'`;
  if (min !== undefined && min < wanted && ready >= min)
    return blocked(
      "grant",
      `Operators of this installation have lowered what this account may keep running on ${hardware}. ${min} of ${wanted} containers are kept.`,
    );
  if (start_failures > 0)
    return blocked(
      "failures",
      `Containers have failed to start ${start_failures} times in a row, and are tried again at most every 30 minutes: ${start_failure ?? ""}`,
    );
  if (start_failure !== null && starting === 0) return blocked("failures", start_failure);
  if (status === undefined || waiting > 0)
    return blocked(
      "capacity",
      `${wanted - ready - starting} containers wait for room on ${hardware}.`,
    );
  return { ...counts, blocked_by: null, reason: null };
}

export const presentRelease = (
  { owner }: Pick<DeploymentRow, "owner">,
  row: ReleaseItemRow,
): Release => {
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
