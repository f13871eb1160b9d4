/** Deployments in the shape of Replicate's API. */
import { versionIdOf } from "../../domain/replicate/versions.ts";
import { readModelReference } from "../../protocol/common.ts";
import type { CreateDeployment, UpdateDeployment } from "../../protocol/deployment.ts";
import { type ReplicateDeployment, replicatePageOf, versionId } from "../../protocol/replicate.ts";
import type { Caller } from "../access/access.ts";
import { createDeployment, updateDeployment } from "../deployments/changes.ts";
import { listDeployments, type Place, readDeployment } from "../deployments/deployments.ts";
import { type DetailedDeployment, newestOf } from "../deployments/present.ts";
import type { PageRequest } from "../pagination.ts";
import type { Services } from "../services.ts";
import { readVersionReference } from "./predictions.ts";

export const readReplicateDeployment = async (services: Services, caller: Caller, place: Place) =>
  present(await readDeployment(services, caller, place));

export async function listReplicateDeployments(
  services: Services,
  caller: Caller,
  request: PageRequest,
) {
  const page = await listDeployments(services, caller, request);
  return replicatePageOf({ ...page, items: page.items.map(present) });
}

/** @throws as createDeployment */
export async function createReplicateDeployment(
  services: Services,
  caller: Caller,
  { model, version, ...request }: Omit<CreateDeployment, "version"> & { version: string },
): Promise<ReplicateDeployment> {
  const isId = versionId.safeParse(version).success;
  const named = await versionNamed(services, caller, isId ? `${model}:${version}` : version);
  const body = { ...request, ...named };
  return present((await createDeployment(services, caller, body, OPTIONS)).detailed);
}

/** @throws as updateDeployment */
export async function updateReplicateDeployment(
  services: Services,
  caller: Caller,
  place: Place,
  { version, ...changes }: Omit<UpdateDeployment, "version"> & { version?: string | undefined },
): Promise<ReplicateDeployment> {
  const named = version === undefined ? {} : await versionNamed(services, caller, version);
  const body = { ...changes, ...named };
  return present((await updateDeployment(services, caller, place, body, OPTIONS)).detailed);
}

const OPTIONS = { dry_run: false, allow_downtime: false };

async function versionNamed(services: Services, caller: Caller, reference: string) {
  const found = readModelReference(await readVersionReference(services, caller, reference));
  if (!found) throw new Error("a version's reference is none");
  const { owner, name, version } = found;
  return { model: `${owner}/${name}`, version };
}

function present(detailed: DetailedDeployment): ReplicateDeployment {
  const { owner, name } = detailed.deployment;
  // Clients need a release: before the first has started, it is the one that is starting.
  const release = detailed.current ?? newestOf(detailed);
  if (!release) throw new Error("a deployment has no release");
  const { kind: type, ...creator } = release.creator ?? owner;
  return {
    owner: owner.username,
    name,
    current_release: {
      number: release.number,
      model: release.model ?? "",
      version: versionIdOf(release.model_id, release.version_number),
      created_at: new Date(release.created_at).toISOString(),
      created_by: { type, ...creator },
      configuration: {
        hardware: release.hardware_identifier,
        min_instances: release.min_instances,
        max_instances: release.max_instances,
      },
    },
  };
}
