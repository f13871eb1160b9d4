/** Models: reading, listing and changing them. */

import { v7 as uuid } from "uuid";
import { accessToModel, type ModelUse } from "../../domain/accounts/access.ts";
import { ROWS_OF } from "../../domain/accounts/write-rows.ts";
import { mergeSorted } from "../../domain/cursor.ts";
import { outputModalityOf } from "../../domain/models/output-modality.ts";
import { invalid, ValidationFailure } from "../../domain/schemas/validation.ts";
import { notFound, notVisible } from "../../errors/errors.ts";
import type {
  CreateModel,
  Model,
  ModelItem,
  ModelSort,
  UpdateModel,
} from "../../protocol/model.ts";
import type { CountMessage } from "../../protocol/queue.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { failedOn, isDuplicate, isLimitReached, runBatch } from "../../storage/database.ts";
import { ascends, type Direction } from "../../storage/keyset.ts";
import { listSharedModels as sharedModelsOf } from "../../storage/models/collaborators.ts";
import { syncListings, writeCounts } from "../../storage/models/counts.ts";
import {
  type DetailedModelRow,
  deleteModel as deleteRow,
  findModel,
  findModelByName,
  insertModel,
  isVersionGone,
  type ListedModelRow,
  type ModelRow,
  listModels as modelsOf,
  listOwnModels as ownModelsOf,
  updateModel as updateRow,
} from "../../storage/models/models.ts";
import { namesSeenBy } from "../../storage/models/targets.ts";
import { findVersion } from "../../storage/models/versions.ts";
import { type Caller, requireAccess, requireAccountAccess } from "../access/access.ts";
import { getUser } from "../access/accounts.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { chargeRows } from "../access/write-limit.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { unlessDeployed } from "../deployments/unless-deployed.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel } from "../predictions/version-resolution.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";
import { unknownCategories } from "./categories.ts";
import { keepPictures, uploadsIn } from "./pictures.ts";
import { forgetHidden, publicReads } from "./public-reads.ts";
import { keptUntil } from "./weight-files.ts";

/** @throws ProblemError not_found, also for a model that the caller cannot see; forbidden */
export const readModel = (
  services: Services,
  caller: Caller | undefined,
  owner: string,
  name: string,
): Promise<DetailedModelRow> => readModelTo(services, caller, [owner, name], "read");

/** @throws ProblemError not_found; forbidden for a model of another user */
export const readOwnModel = (
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
): Promise<DetailedModelRow> => readModelTo(services, caller, [owner, name], "change");

/** Returns which of these names, `owner/name`, are models with a page that the user sees. */
export const modelsSeenBy = ({ db }: Services, userId: string, names: ReadonlySet<string>) =>
  namesSeenBy(db, userId, names);

/** Reads a model that the caller may use in a way. @throws ProblemError not_found, forbidden */
export async function readModelTo(
  services: Services,
  caller: Caller | undefined,
  [owner, name]: [owner: string, name: string],
  use: ModelUse,
): Promise<DetailedModelRow> {
  const what = `The model '${owner}/${name}'`;
  const row = await findModelByName(services.db, owner, name, caller?.user_id);
  if (!row) throw notVisible(what);
  const access = accessToModel(caller, { ...row, owner_id: row.owner.id }, use);
  await requireAccess(services, caller, access, what);
  return row;
}

/** @throws ProblemError conflict, forbidden; ValidationFailure */
export async function createModel(
  services: Services,
  caller: Caller,
  { category_slugs = [], ...request }: CreateModel,
): Promise<Model> {
  await requireAccountAccess(services, caller, "New models", "developer");
  await checkNames(services, request.hardware_identifier, category_slugs);
  const now = Date.now();
  const row = {
    id: uuid(),
    owner_id: caller.user_id,
    name: request.name,
    visibility: request.visibility,
    pictures: uploadsIn(request.overview ?? ""),
    description: request.description ?? "",
    overview: request.overview ?? "",
    source_url: request.source_url ?? null,
    license_url: request.license_url ?? null,
    paper_url: request.paper_url ?? null,
    cover_image_url: request.cover_image_url ?? null,
    hardware_identifier: request.hardware_identifier ?? null,
    created_at: now,
    updated_at: now,
  };
  const max = services.settings.maxModels;
  const allowance = quotaOf(services, caller.user_id);
  const owner = await findUser(services.db, caller.user_id);
  const entry = auditEntry({
    action: "model.created",
    account_id: caller.user_id,
    targets: [{ type: "model", id: row.id, name: `${owner?.username}/${row.name}` }],
    after: { ...request, category_slugs },
  });
  const inserting = insertModel(services.db, row, category_slugs, max, allowance, entry);
  await orConflict(
    unlessTaken(request.name, withinQuota(services, inserting)),
    isLimitReached,
    `An account can have at most ${max} models. Delete one, or ask the operator to raise MAX_MODELS.`,
  );
  await keepPictures(services, row.owner_id, row.overview);
  return getModel(services, row.id);
}

/** The account and the target of an entry of the audit log about a model. */
export const ofModel = ({ id, name, owner }: Pick<DetailedModelRow, "id" | "name" | "owner">) => ({
  account_id: owner.id,
  targets: [{ type: "model", id, name: `${owner.username}/${name}` }],
});

/** The fields of a model that a collaborator changes at the level `write`. */
const TEXTS = new Set<string>([
  "description",
  "overview",
  "source_url",
  "license_url",
  "paper_url",
  "cover_image_url",
] satisfies (keyof UpdateModel)[]);

/**
 * Changes a model. After a rename, only the new name works.
 * @throws ProblemError not_found, forbidden, conflict; ValidationFailure
 */
export async function updateModel(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  request: UpdateModel,
): Promise<Model> {
  const { category_slugs, ...changes } = request;
  const use = Object.keys(request).every((field) => TEXTS.has(field)) ? "write" : "change";
  const model = await readModelTo(services, caller, [owner, name], use);
  const { id } = model;
  await checkNames(services, changes.hardware_identifier, category_slugs);
  const runs = await wantedDefault(services, model, changes.default_version);
  if (category_slugs !== undefined || Object.keys(changes).length > 0) {
    const now = Date.now();
    const updating = updateRow(
      services.db,
      id,
      {
        ...changes,
        ...runs,
        ...(changes.overview !== undefined && { pictures: uploadsIn(changes.overview) }),
        updated_at: now,
      },
      category_slugs,
      quotaOf(services, model.owner.id),
      auditEntry({ action: "model.updated", ...ofModel(model), before: model, after: request }),
    );
    await orConflict(
      unlessTaken(changes.name ?? name, withinQuota(services, updating)),
      isVersionGone,
      `Version ${changes.default_version} was just deleted, and nothing was changed. Choose another default version.`,
    );
    forgetModel(caller, owner, name);
    if (changes.visibility !== undefined) forgetHidden();
    if (changes.overview !== undefined)
      await keepPictures(services, model.owner.id, model.overview, changes.overview);
  }
  return getModel(services, id);
}

/**
 * Returns the changes that make a version the default.
 * @param number null: the latest; undefined: no change
 * @throws ValidationFailure if the model has no such version
 */
async function wantedDefault(
  { db }: Services,
  { id, name, latest_version }: DetailedModelRow,
  number: number | null | undefined,
): Promise<Partial<ModelRow>> {
  if (number === undefined) return {};
  const version = number === null ? latest_version : await findVersion(db, id, number);
  if (number !== null && !version)
    throw invalid(["body", "default_version"], `the model has no version ${number}`);
  const makes = version ? outputModalityOf(version, name) : undefined;
  return { default_version: number, makes: makes ?? null };
}

/**
 * Deletes a model. Predictions that were accepted run to their end.
 * @throws ProblemError not_found, forbidden, conflict while a deployment of the account runs it
 */
export async function deleteModel(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
): Promise<void> {
  const model = await readOwnModel(services, caller, owner, name);
  const { id, latest_version } = model;
  const { maxVersions } = services.settings;
  await chargeRows(services, ROWS_OF.version * Math.min(latest_version?.number ?? 0, maxVersions));
  const entry = auditEntry({ action: "model.deleted", ...ofModel(model) });
  const deleting = deleteRow(services.db, id, keptUntil(services), entry);
  await unlessDeployed(services, `The model '${owner}/${name}'`, id, deleting);
  await keepPictures(services, model.owner.id, model.overview);
  forgetModel(caller, owner, name);
}

export interface ModelFilters {
  sort_by: ModelSort;
  sort_direction: Direction;
  category_slugs: string[];
}

/**
 * Lists public and restricted models of all owners, or of one.
 * @param caller undefined: a visitor, who reads the nearest copy of D1
 * @throws ProblemError not_found for an unknown owner
 */
export async function listModels(
  services: Services,
  caller: Caller | undefined,
  username: string | undefined,
  filters: ModelFilters,
  request: PageRequest,
): Promise<Page<ModelItem>> {
  const { sort_by: sort, sort_direction: direction } = filters;
  const ownerId = username === undefined ? undefined : (await getUser(services, username)).id;
  const slugs = [...new Set(filters.category_slugs)].sort();
  const lists = (slugs.length > 0 ? slugs : [undefined]).map((categorySlug) => ({
    ownerId,
    categorySlug,
    sort,
    direction,
  }));
  const { db, hidden } = await publicReads(services, caller);
  const keyOf = (row: ListedModelRow) =>
    sort === "predictions_count" ? [row.listed_count, row.id] : [row.id];
  return paginate(services, request, {
    name: `models/${ownerId ?? ""}?${sort}&${direction}&${slugs.join("&")}`,
    find: async (keyset) =>
      mergeSorted(
        await modelsOf(db, lists, keyset, hidden),
        { keyOf, ascending: ascends(direction, keyset) },
        keyset.limit,
      ),
    keyOf,
    present: services.present.modelItem,
  });
}

/** The caller's own models, private ones included, newest first; only those that the token covers. */
export const listOwnModels = (
  services: Services,
  caller: Caller,
  request: PageRequest,
): Promise<Page<ModelItem>> =>
  paginate(services, request, {
    name: `user/models/${caller.user_id}`,
    find: (keyset) => ownModelsOf(services.db, caller.user_id, caller.models, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.modelItem,
  });

/** The models that are shared with the caller, newest first; only those that the token covers. */
export const listSharedModels = (
  services: Services,
  caller: Caller,
  request: PageRequest,
): Promise<Page<ModelItem>> =>
  paginate(services, request, {
    name: `user/models/${caller.user_id}?shared`,
    find: (keyset) => sharedModelsOf(services.db, caller.user_id, caller.models, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.modelItem,
  });

async function getModel({ db, present }: Services, id: string): Promise<Model> {
  const row = await findModel(db, id);
  if (!row) throw notFound("The model");
  return present.model(row);
}

/** @throws ValidationFailure naming each hardware or category that does not exist */
async function checkNames(
  services: Services,
  identifier: string | null | undefined,
  slugs: string[] = [],
): Promise<void> {
  const machines = typeof identifier === "string" ? [identifier] : [];
  const issues = await Promise.all([
    unknownCategories(services, slugs, (n) => ["body", "category_slugs", String(n)]),
    unknownHardware(services, machines, () => ["body", "hardware_identifier"]),
  ]);
  if (issues.flat().length > 0) throw new ValidationFailure(issues.flat());
}

/** @throws ProblemError conflict */
const unlessTaken = <Row>(name: string, writing: Promise<Row>): Promise<Row> =>
  orConflict(
    orConflict(
      writing,
      (error) => failedOn(error, "UNIQUE", "deployments.name"),
      `You have a deployment '${name}', and models and deployments share their names. Choose another name.`,
    ),
    isDuplicate,
    `You already have a model '${name}'.`,
  );

export const countPredictions = ({ db }: Services, counts: CountMessage[]) =>
  writeCounts(db, counts, Date.now());

export const sweepListings = ({ db }: Services) => runBatch(db, syncListings(db));
