/** Deployments: reading, listing and deleting them. */
import { accessToModel, type ModelUse } from "../../domain/accounts/access.ts";
import { notVisible } from "../../errors/errors.ts";
import type { Deployment, ListedRelease } from "../../protocol/deployment.ts";
import { listPools } from "../../storage/deployments/claims.ts";
import {
  type DeploymentRow,
  deleteDeployment as deleteRow,
  findCurrentReleases,
  findDeployment,
  listDeployments as findDeployments,
  listReleases as releasesOf,
} from "../../storage/deployments/deployments.ts";
import type { Keyset } from "../../storage/keyset.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, pagesOf, paginate } from "../pagination.ts";
import { forgetDeployment } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { tellOfChange } from "./claims.ts";
import { withFigures } from "./figures.ts";
import { type DetailedDeployment, NONE, newestOf, presentRelease, presentWith } from "./present.ts";
import { cancelStarts } from "./starts.ts";

/** Deployments that are read at once. */
const PAGE = 50;

export type Place = [owner: string, name: string];

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
    yield* (await withReleases(services, userId, rows)).map((one) => presentWith(one, NONE));
}

/** Lists the releases of a deployment with their figures, newest first. @throws ProblemError not_found, forbidden */
export async function listReleases(
  services: Services,
  caller: Caller,
  place: Place,
  request: PageRequest,
): Promise<Page<ListedRelease>> {
  const { deployment } = await findOwn(services, caller, place, "read");
  const page = await paginate(services, request, {
    name: `releases/${deployment.id}`,
    find: (keyset) => releasesOf(services.db, deployment, keyset),
    keyOf: ({ number }) => [number],
    present: (row) => presentRelease(deployment, row),
  });
  return { ...page, items: await withFigures(services, caller, deployment.id, page.items) };
}

/** @throws ProblemError not_found, forbidden */
export async function deleteDeployment(
  services: Services,
  caller: Caller,
  place: Place,
): Promise<void> {
  const { deployment } = await findOwn(services, caller, place, "change");
  const pools = await listPools(services.db, deployment.id);
  const entry = auditEntry({ action: "deployment.deleted", ...ofDeployment(deployment) });
  await deleteRow(services.db, deployment.id, entry);
  forgetDeployment(caller, ...place);
  await cancelStarts(services, deployment);
  await tellOfChange(services, pools);
}

/** The account and the target of an entry of the audit log about a deployment. */
export const ofDeployment = ({
  id,
  owner_id,
  name,
  owner,
}: Pick<DeploymentRow, "id" | "owner_id" | "name"> & { owner: { username: string } }) => ({
  account_id: owner_id,
  targets: [{ type: "deployment", id, name: `${owner.username}/${name}` }],
});
