/** Models, versions, examples and collections for clients of Replicate's API. */
import { replicateHead } from "../../domain/replicate/prediction.ts";
import { replicateVersion } from "../../domain/replicate/versions.ts";
import { notFound, notVisible, ProblemError } from "../../errors/errors.ts";
import type { Example } from "../../protocol/example.ts";
import { type CreateModel, createModel as newModel } from "../../protocol/model.ts";
import {
  type CreateReplicateModel,
  type ReplicateModel,
  type ReplicatePrediction,
  type ReplicateVersion,
  replicatePageOf,
  replicatePrediction,
  type UpdateReplicateModel,
} from "../../protocol/replicate.ts";
import { ownerName } from "../../protocol/user.ts";
import { findCategory } from "../../storage/models/categories.ts";
import { type DetailedModelRow, defaultVersion, findModels } from "../../storage/models/models.ts";
import { listWholeVersions } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { getOwnUser } from "../accounts/users.ts";
import { listCategories } from "../models/categories.ts";
import { examplesOf } from "../models/examples.ts";
import {
  createModel,
  listModels,
  type ModelFilters,
  readModel,
  updateModel,
} from "../models/models.ts";
import { databaseFor } from "../models/public-reads.ts";
import { searchModels } from "../models/search.ts";
import { deleteVersion, readVersion } from "../models/versions.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { readVersionReference } from "./predictions.ts";

type Place = [owner: string, name: string];
type Reader = Caller | undefined;

/** The models of a collection, which Replicate does not divide into pages. */
const MAX_IN_COLLECTION = 50;

const MAX_QUERY_CHARS = 50;

export async function readReplicateModel(
  services: Services,
  caller: Reader,
  [owner, name]: Place,
  origin: string,
): Promise<ReplicateModel> {
  const row = await readModel(services, caller, owner, name);
  const [example] = await examplesOf(services, row.id, origin);
  return {
    ...presentModel(row, origin),
    default_example: example ? presentExample(row, example, origin) : null,
  };
}

export const listReplicateModels = async (
  services: Services,
  caller: Reader,
  direction: ModelFilters["sort_direction"],
  request: PageRequest,
) => withVersions(services, request, await listed(services, caller, direction, [], request));

/** Finds models by words of their name or description. */
export const searchReplicateModels = async (
  services: Services,
  caller: Reader,
  query: string,
  request: PageRequest,
) => {
  const q = query.slice(0, MAX_QUERY_CHARS);
  return withVersions(services, request, await searchModels(services, caller, q, request));
};

const listed = (
  services: Services,
  caller: Reader,
  sort_direction: ModelFilters["sort_direction"],
  category_slugs: string[],
  request: PageRequest,
) =>
  listModels(
    services,
    caller,
    undefined,
    { sort_by: "created_at", sort_direction, category_slugs },
    request,
  );

/** Returns a page of models with their latest versions, which lists of ours do not have. */
async function withVersions(services: Services, { url }: PageRequest, page: Page<{ id: string }>) {
  const { origin } = new URL(url);
  const ids = page.items.map(({ id }) => id);
  const rows = ids.length > 0 ? await findModels(services.db, ids) : [];
  const byId = new Map(rows.map((row) => [row.id, row]));
  const items = ids.flatMap((id) => {
    const row = byId.get(id);
    return row ? [presentModel(row, origin)] : [];
  });
  return replicatePageOf({ ...page, items });
}

/** @throws ProblemError forbidden for another owner, conflict; ValidationFailure */
export async function createReplicateModel(
  services: Services,
  caller: Caller,
  { owner, name, visibility, hardware, ...fields }: CreateReplicateModel,
  origin: string,
): Promise<ReplicateModel> {
  const own = ownerName(await getOwnUser(services, caller));
  if (owner !== own) {
    const detail = `This token can create models of '${own}' only, not of '${owner.slice(0, 63)}'.`;
    throw new ProblemError("forbidden", detail);
  }
  const hardware_identifier = hardware ?? null;
  const request: CreateModel = { name, visibility, hardware_identifier, ...ourFields(fields) };
  await createModel(services, caller, newModel.parse(request));
  return readReplicateModel(services, caller, [own, name], origin);
}

/** @throws ProblemError not_found, forbidden; ValidationFailure */
export async function updateReplicateModel(
  services: Services,
  caller: Caller,
  [owner, name]: Place,
  { readme, ...fields }: UpdateReplicateModel,
  origin: string,
): Promise<ReplicateModel> {
  const changes = { ...ourFields(fields), ...(readme !== undefined && { overview: readme }) };
  await updateModel(services, caller, owner, name, changes);
  return readReplicateModel(services, caller, [owner, name], origin);
}

/** Returns the fields that a request has, by our names for them. */
function ourFields({ github_url, ...fields }: Omit<UpdateReplicateModel, "readme">) {
  const named = { ...fields, source_url: github_url };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

export async function listReplicateVersions(
  services: Services,
  caller: Reader,
  [owner, name]: Place,
  request: PageRequest,
) {
  const { id } = await readModel(services, caller, owner, name);
  const page = await paginate(services, request, {
    name: `versions/${id}`,
    find: (keyset) => listWholeVersions(services.db, id, keyset),
    keyOf: ({ number }) => [number],
    present: replicateVersion,
  });
  return replicatePageOf(page);
}

/** @param version its ID or its number @throws ProblemError not_found */
export async function readReplicateVersion(
  services: Services,
  caller: Reader,
  place: Place,
  version: string,
): Promise<ReplicateVersion> {
  const number = await numberOf(services, caller, place, version);
  return replicateVersion((await readVersion(services, caller, ...place, number)).version);
}

/** @param version its ID or its number @throws ProblemError not_found, forbidden */
export const deleteReplicateVersion = async (
  services: Services,
  caller: Caller,
  place: Place,
  version: string,
): Promise<void> =>
  deleteVersion(services, caller, ...place, await numberOf(services, caller, place, version));

async function numberOf(
  services: Services,
  caller: Reader,
  [owner, name]: Place,
  version: string,
): Promise<number> {
  const reference = `${owner}/${name}:${version}`;
  if (!/^(?:[1-9]\d{0,8}|[0-9a-f]{64})$/.test(version))
    throw notVisible(`The version '${reference}'`);
  const found = await readVersionReference(services, caller, reference);
  return Number(found.split(":")[1]);
}

export async function listReplicateExamples(
  services: Services,
  caller: Reader,
  [owner, name]: Place,
  origin: string,
) {
  const row = await readModel(services, caller, owner, name);
  const examples = await examplesOf(services, row.id, origin);
  return {
    previous: null,
    next: null,
    results: examples.map((example) => presentExample(row, example, origin)),
  };
}

export async function listReplicateCollections(
  services: Services,
  caller: Reader,
  request: PageRequest,
) {
  const page = await listCategories(services, request, databaseFor(services, caller));
  const items = page.items.map((category) => ({ ...category, full_description: null }));
  return replicatePageOf({ ...page, items });
}

/** @throws ProblemError not_found */
export async function readReplicateCollection(
  services: Services,
  caller: Reader,
  slug: string,
  url: string,
) {
  const found = await findCategory(services.db, slug);
  if (!found) throw notFound(`The collection '${slug.slice(0, 63)}'`);
  const request = { cursor: undefined, size: MAX_IN_COLLECTION, url };
  const page = await listed(services, caller, "desc", [slug], request);
  const { results } = await withVersions(services, request, page);
  const { name, description } = found;
  return { name, slug, description, full_description: null, models: results };
}

function presentModel(row: DetailedModelRow, origin: string): ReplicateModel {
  const { owner, name } = row;
  // Clients run `latest_version`, so it is the version that a run by name gets.
  const version = defaultVersion(row);
  return {
    url: `${origin}/models/${owner.username}/${name}`,
    owner: owner.username,
    name,
    description: row.description,
    // Anyone can run a restricted model.
    visibility: row.visibility === "private" ? "private" : "public",
    is_official: false,
    github_url: row.source_url,
    paper_url: row.paper_url,
    license_url: row.license_url,
    cover_image_url: row.cover_image_url,
    run_count: row.predictions_count,
    created_at: new Date(row.created_at).toISOString(),
    default_example: null,
    latest_version: version && replicateVersion(version),
  };
}

/** An example is a copy of a prediction, which others cannot read. */
function presentExample(
  { id: model_id, owner, name }: DetailedModelRow,
  { id, version_number, created_at, execution_time, input, output }: Example,
  origin: string,
): ReplicatePrediction {
  const prediction = {
    id,
    model: { owner: owner.username, name, version_number },
    created_at,
    updated_at: created_at,
    status: "succeeded" as const,
    setup_time: null,
    execution_time,
    error: null,
    metrics: null,
    cost: null,
    url: `${origin}/v1/predictions/${id}`,
    stream: false,
    created_by: null,
  };
  const facts = { origin, model_id, token_id: "", data_removed: false };
  return replicatePrediction.parse({
    ...replicateHead(prediction, facts),
    input,
    output,
    logs: "",
  });
}
