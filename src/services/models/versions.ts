/** Versions of models: publishing, reading and deleting them. */
import { hasFullAccess } from "../../domain/accounts/access.ts";
import { outputModalityOf } from "../../domain/models/output-modality.ts";
import { invalid, ValidationFailure } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { ModelRun } from "../../objects/stubs/account.ts";
import type { Configuration, CreateVersion } from "../../protocol/model.ts";
import { timesReleased } from "../../storage/accounts/users.ts";
import { isLimitReached } from "../../storage/database.ts";
import { isOverFiles } from "../../storage/files/uploads.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import {
  deleteVersion as deleteRow,
  findVersion,
  findVersionBefore,
  insertVersion,
  isFileGone,
  type ListedSchemas,
  listCompared,
  type VersionRow,
  type VersionSummaryRow,
  listVersions as versionsOf,
} from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { unlessDeployed } from "../deployments/unless-deployed.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel, forgetVersion, versionNotFound } from "../predictions/version-resolution.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";
import { ofModel, readModel, readModelTo, readOwnModel } from "./models.ts";
import { checkRemote, remoteContent } from "./remote-version.ts";
import { ownConfiguration, versionImage } from "./version-image.ts";
import { checkOverlap, fileGone, keptUntil, namedFiles, ownerHasNoRoom } from "./weight-files.ts";

/** A version, and whether everyone can see it. */
export interface ReadVersion {
  version: VersionRow;
  shared: boolean;
}

/** @throws ProblemError not_found, forbidden, conflict; ValidationFailure */
export async function createVersion(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  request: CreateVersion,
): Promise<VersionRow> {
  const model = await readModelTo(services, caller, [owner, name], "write");
  const images = await imagePath(services, model.owner.username);
  const elsewhere = images && `${images}/${model.name}`;
  // A collaborator or a limited token may not see the owner's other models, whose images are beside this one's.
  const seesAll = caller.user_id === model.owner.id && hasFullAccess(caller);
  const own = seesAll && images !== undefined ? `${images}/*` : elsewhere;
  await checkConfiguration(services, own, request.configuration ?? {});
  const inherited = request.configuration ?? ownConfiguration(model.latest_version);
  const { content, read } = checkRemote(services, request, inherited)
    ? remoteContent(request, inherited)
    : await versionImage(services, model, request, elsewhere);
  const named =
    request.configuration && (await namedFiles(services, caller, model, request.configuration));
  const files = named?.files ?? model.latest_version?.weight_files ?? [];
  checkOverlap([...content.weights, ...files]);
  const max = services.settings.maxVersions;
  const { release_notes, set_default } = request;
  // The URL of a file in a request may be signed; `named` has its id.
  const { configuration } = named ?? {};
  const { container_image_digest } = content;
  const entry = auditEntry({
    action: "version.created",
    ...ofVersion(model),
    after: { release_notes, set_default, container_image_digest, configuration },
  });
  const inserting = insertVersion(
    services.db,
    {
      model_id: model.id,
      release_notes,
      ...content,
      makes: outputModalityOf(content, name),
      size: 0,
      created_at: Date.now(),
      set_default,
    },
    { given: named?.configuration, files: named?.files, read, moved: named?.moved },
    max,
    quotaOf(services, model.owner.id),
    entry,
  );
  const version = await orConflict(
    withinQuota(services, inserting).catch((error: unknown) => {
      if (isFileGone(error)) throw fileGone();
      throw isOverFiles(error) ? ownerHasNoRoom(services) : error;
    }),
    isLimitReached,
    `A model can have at most ${max} versions. Delete an unused one, or ask the operator to raise MAX_VERSIONS.`,
  );
  for (const user_id of new Set([caller.user_id, model.owner.id]))
    forgetModel({ user_id }, owner, name);
  return version;
}

/** The account and the targets of an entry of the audit log about a version. Absent: one that gets a number. */
export function ofVersion(model: DetailedModelRow, version?: VersionRow) {
  const { account_id, targets } = ofModel(model);
  const name = `${model.owner.username}/${model.name}${version ? `:${version.number}` : ""}`;
  return { account_id, targets: [{ type: "version", id: version?.hash ?? "", name }, ...targets] };
}

/** @throws ProblemError not_found */
export async function readVersion(
  services: Services,
  caller: Caller | undefined,
  owner: string,
  name: string,
  number: number,
): Promise<ReadVersion> {
  const { id, visibility } = await readModel(services, caller, owner, name);
  const version = await findVersion(services.db, id, number);
  if (!version) throw versionNotFound(`${owner}/${name}`, number);
  return { version, shared: visibility !== "private" };
}

/** The length above which the schemas of versions in a list are not compared. */
const COMPARED_CHARS = 20_000;

/**
 * Returns the versions of a page of a list, and the one before them, to be compared.
 * @param numbers newest first
 */
export const readCompared = async (
  { db }: Services,
  { id }: Pick<DetailedModelRow, "id">,
  numbers: number[],
): Promise<ListedSchemas[]> => {
  const [newest] = numbers;
  if (newest === undefined) return [];
  return listCompared(db, id, newest, { limit: numbers.length + 1, chars: COMPARED_CHARS });
};

/** How many of an account's last runs of a model the figures of its versions are of. */
const RUNS = 1_000;

export interface VersionRuns {
  runs: number;
  failed: number;
  /** The median execution time of those that succeeded, in seconds. Null: none has succeeded. */
  median_seconds: number | null;
}

/** Returns figures of the caller's last runs of a model, by the number of the version. */
export async function readVersionRuns(
  services: Services,
  caller: Caller,
  { id }: Pick<DetailedModelRow, "id">,
): Promise<Map<number, VersionRuns>> {
  const account = await findAccount(services, caller.user_id);
  const runs = (await account?.runsOf(id, RUNS)) ?? [];
  const byVersion = Map.groupBy(runs, ({ version_number }) => version_number);
  return new Map([...byVersion].map(([number, of]) => [number, figuresOf(of)]));
}

function figuresOf(runs: ModelRun[]): VersionRuns {
  const seconds = runs
    .flatMap(({ status, execution_time }) =>
      status === "succeeded" && execution_time !== null ? [execution_time] : [],
    )
    .sort((a, b) => a - b);
  return {
    runs: runs.length,
    failed: runs.filter(({ status }) => status === "failed").length,
    median_seconds: seconds[Math.floor(seconds.length / 2)] ?? null,
  };
}

/** Returns the version before this one, if there is any. */
export const readVersionBefore = ({ db }: Services, { model_id, number }: VersionRow) =>
  findVersionBefore(db, model_id, number);

/**
 * Deletes a version. Predictions that were accepted run to their end.
 * @throws ProblemError not_found, forbidden; conflict for the model's `default_version`, and while a deployment of
 * the account runs it
 */
export async function deleteVersion(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  number: number,
): Promise<void> {
  const model = await readOwnModel(services, caller, owner, name);
  const { id } = model;
  const version = await findVersion(services.db, id, number);
  if (!version) throw versionNotFound(`${owner}/${name}`, number);
  const entry = auditEntry({ action: "version.deleted", ...ofVersion(model, version) });
  const deleting = deleteRow(services.db, id, number, keptUntil(services), entry);
  const what = `Version ${number} of '${owner}/${name}'`;
  if (!(await unlessDeployed(services, what, id, deleting, number))) {
    // Another request may have deleted the version meanwhile.
    if (!(await findVersion(services.db, id, number)))
      throw versionNotFound(`${owner}/${name}`, number);
    throw new ProblemError(
      "conflict",
      `Version ${number} is the default version of '${owner}/${name}'. Make another version the default first: PATCH /v1/models/${owner}/${name} with \`default_version\`.`,
    );
  }
  forgetModel(caller, owner, name);
  forgetVersion(id, number);
}

/** Lists the versions of a model that the caller sees, newest first. */
export const listVersions = (
  services: Services,
  { id }: DetailedModelRow,
  request: PageRequest,
): Promise<Page<VersionSummaryRow>> =>
  paginate(services, request, {
    name: `versions/${id}`,
    find: (keyset) => versionsOf(services.db, id, keyset),
    keyOf: ({ number }) => [number],
    present: (row) => row,
  });

/**
 * @param own the repositories of the owner that the caller may use, besides those that the operator allows
 * @throws ValidationFailure
 */
async function checkConfiguration(
  services: Services,
  own: string | undefined,
  { image, hardware_identifier: hardware }: Configuration,
): Promise<void> {
  const { imageAllowList } = services.settings;
  const allowed = own === undefined ? imageAllowList : [own, ...imageAllowList];
  if (image !== undefined && !isAllowed(allowed, image)) {
    throw invalid(
      ["body", "configuration", "image"],
      `'${image}' is not ${whereAllowed(own)}. The operator can allow it with IMAGE_ALLOW_LIST, or you can push it here`,
    );
  }
  const machines = hardware === undefined ? [] : [hardware];
  const issues = await unknownHardware(services, machines, () => [
    "body",
    "configuration",
    "hardware_identifier",
  ]);
  if (issues.length > 0) throw new ValidationFailure(issues);
}

function whereAllowed(own: string | undefined): string {
  if (own === undefined) return "on the operator's list";
  return own.endsWith("/*") ? `below ${own.slice(0, -1)}` : `the model's repository, ${own}`;
}

const isAllowed = (allowList: string[], repository: string) =>
  allowList.some((allowed) =>
    allowed.endsWith("/*") ? repository.startsWith(allowed.slice(0, -1)) : repository === allowed,
  );

/**
 * Returns the path of a user's images in the operator's own registry, without a trailing slash; undefined if
 * there is none. Each time a username is released, its path changes, so that a new holder cannot run images
 * of an earlier one by their digests.
 */
export async function imagePath(
  { db, settings }: Services,
  username: string,
): Promise<string | undefined> {
  if (settings.imageRegistry === "") return undefined;
  const path = `${settings.imageRegistry}/${username}`;
  const times = await timesReleased(db, username);
  return times === 0 ? path : `${path}/${times + 1}`;
}
