/** Versions of models: publishing, reading and deleting them. */
import { checkSchema } from "../../domain/schemas/json-schema.ts";
import { invalid, jsonText, type Loc, ValidationFailure } from "../../domain/schemas/validation.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type {
  Configuration,
  CreateVersion,
  Schemas,
  VersionSummary,
} from "../../protocol/model.ts";
import { isLimitReached } from "../../storage/database.ts";
import {
  deleteVersion as deleteRow,
  findVersion,
  insertVersion,
  type VersionRow,
  listVersions as versionsOf,
} from "../../storage/models/versions.ts";
import type { Caller } from "../accounts/caller.ts";
import { quotaOf, withinQuota } from "../accounts/storage-quota.ts";
import { imagePath } from "../accounts/users.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModel, forgetVersion, versionNotFound } from "../predictions/version-resolution.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";
import { readModel, readOwnModel } from "./models.ts";

/** Both schemas together: 1,000 versions of a model take 100 MB of D1's 10 GB. */
const SCHEMAS_CHARS = 100_000;

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
  const model = await readOwnModel(services, caller, owner, name);
  checkSchemas(request.schemas);
  const images = await imagePath(services, model.owner.username);
  await checkConfiguration(services, images, request.configuration ?? {});
  const max = services.settings.maxVersions;
  const inserting = insertVersion(
    services.db,
    {
      model_id: model.id,
      release_notes: request.release_notes,
      container_image_digest: request.container_image_digest,
      repository: `${images}/${model.name}`,
      schemas: request.schemas,
      compatibilities: request.compatibilities,
      size: 0,
      created_at: Date.now(),
    },
    request.configuration,
    max,
    quotaOf(services, caller.user_id),
  );
  const version = await orConflict(
    withinQuota(services, inserting),
    isLimitReached,
    `A model can have at most ${max} versions. Delete an unused one, or ask the operator to raise MAX_VERSIONS.`,
  );
  forgetModel(caller, owner, name);
  return version;
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

/** What was accepted runs to its end. @throws ProblemError not_found, forbidden */
export async function deleteVersion(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  number: number,
): Promise<void> {
  const { id } = await readOwnModel(services, caller, owner, name);
  if (!(await findVersion(services.db, id, number)))
    throw versionNotFound(`${owner}/${name}`, number);
  await deleteRow(services.db, id, number);
  forgetModel(caller, owner, name);
  forgetVersion(id, number);
}

/** Newest first. @throws ProblemError not_found */
export async function listVersions(
  services: Services,
  caller: Caller | undefined,
  owner: string,
  name: string,
  request: PageRequest,
): Promise<{ page: Page<VersionSummary>; shared: boolean }> {
  const { id, visibility } = await readModel(services, caller, owner, name);
  const versions = await paginate(services, request, {
    name: `versions/${id}`,
    find: (keyset) => versionsOf(services.db, id, keyset),
    keyOf: ({ number }) => [number],
    present: services.present.versionSummary,
  });
  return { page: versions, shared: visibility !== "private" };
}

/** @throws ValidationFailure */
function checkSchemas(schemas: Schemas): void {
  if (jsonText(schemas, ["body", "schemas"]).length > SCHEMAS_CHARS) {
    throw invalid(["body", "schemas"], `they can have at most ${SCHEMAS_CHARS} characters as JSON`);
  }
  for (const side of ["input", "output"] as const) {
    const place: Loc = ["body", "schemas", "prediction", side];
    try {
      checkSchema(versionSchema(schemas, side), place);
    } catch (error) {
      throw schemas.components ? atRequestPath(error, place) : error;
    }
  }
}

/** Shared components are validated as part of each schema: points their issues to where they were sent. */
function atRequestPath(error: unknown, place: Loc): unknown {
  if (!(error instanceof ValidationFailure)) return error;
  return new ValidationFailure(
    error.issues.map((issue) =>
      issue.loc[place.length] === "components"
        ? { ...issue, loc: ["body", "schemas", ...issue.loc.slice(place.length)] }
        : issue,
    ),
  );
}

/** @throws ValidationFailure */
async function checkConfiguration(
  services: Services,
  images: string,
  { image, hardware_identifier: hardware }: Configuration,
): Promise<void> {
  const { settings } = services;
  const ownPath = `${images}/`;
  if (
    image !== undefined &&
    !image.startsWith(ownPath) &&
    !isAllowed(settings.imageAllowList, image)
  ) {
    throw invalid(
      ["body", "configuration", "image"],
      `'${image}' is not below ${ownPath}. The operator can allow it with IMAGE_ALLOW_LIST`,
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

const isAllowed = (allowList: string[], repository: string) =>
  allowList.some((allowed) =>
    allowed.endsWith("/*") ? repository.startsWith(allowed.slice(0, -1)) : repository === allowed,
  );
