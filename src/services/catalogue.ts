/** Users, models and versions, as far as publishing and calling a model needs them. */
import { v7 as uuid } from "uuid";
import { checkSchema } from "../domain/json-schema.ts";
import { invalid } from "../domain/validation.ts";
import { notFound, ProblemError } from "../errors.ts";
import type { CreateModel, CreateVersion } from "../protocol/model.ts";
import { isDuplicate } from "../storage/database.ts";
import { findHardware, type HardwareRow, insertHardware } from "../storage/hardware.ts";
import { type FoundModel, findModel, insertModel } from "../storage/models.ts";
import { findUserByName, insertUser, type UserRow } from "../storage/users.ts";
import {
  findLatestVersion,
  findVersion,
  insertVersion,
  type VersionRow,
} from "../storage/versions.ts";
import { remembered } from "./cache.ts";
import type { Services } from "./services.ts";
import type { Caller } from "./tokens.ts";

export interface ModelWithVersion extends FoundModel {
  version: VersionRow | undefined;
}

/** What a prediction runs on. */
export interface Target extends FoundModel {
  version: VersionRow;
}

const targets = remembered(10_000, async ({ db }: Services, reference: string) => {
  const [, owner = "", name = "", number] = /^([^/]+)\/([^:]+)(?::(\d+))?$/.exec(reference) ?? [];
  const found = await findModel(db, owner, name);
  if (!found) return undefined;
  const version = await (number === undefined
    ? findLatestVersion(db, found.model.id)
    : findVersion(db, found.model.id, Number(number)));
  return version && { ...found, version };
});

/**
 * The version that `owner/name` or `owner/name:number` means, for somebody who may see it.
 * @throws ProblemError not_found, also for what the caller may not see
 */
export async function findTarget(
  services: Services,
  caller: Caller,
  reference: string,
): Promise<Target> {
  const target = await targets.get(services, reference);
  if (target && mayRead(target, caller)) return target;
  const [model = ""] = reference.split(":", 1);
  const [owner = "", name = ""] = model.split("/", 2);
  // Why it was not found: only asked on this path, which may be slow.
  const found = target ?? (await findModel(services.db, owner, name));
  if (!found || !mayRead(found, caller)) throw notFound(`The model '${model}'`);
  if (reference === model) {
    throw notFound(
      `A version of '${model}': publish one with POST /v1/models/${model}/versions. It`,
    );
  }
  throw notFound(`The version '${reference}'`);
}

export const mayRead = ({ model }: FoundModel, caller: Caller | undefined) =>
  model.visibility !== "private" || model.owner_id === caller?.user_id;

export async function createUser(
  { db }: Services,
  username: string,
  name: string,
): Promise<UserRow> {
  const now = Date.now();
  const row = { id: uuid(), username, name, avatar_url: "", created_at: now, updated_at: now };
  await insertUser(db, row).catch(conflict(`The username '${username}' is taken.`));
  return row;
}

export async function findUser({ db }: Services, username: string): Promise<UserRow> {
  const user = await findUserByName(db, username);
  if (!user) throw notFound(`The user '${username}'`);
  return user;
}

export async function addHardware(
  { db }: Services,
  row: Omit<HardwareRow, "created_at">,
): Promise<void> {
  const taken = conflict(`The hardware '${row.identifier}' is there already.`);
  await insertHardware(db, { ...row, created_at: Date.now() }).catch(taken);
}

export async function createModel(
  services: Services,
  caller: Caller,
  request: CreateModel,
): Promise<ModelWithVersion> {
  const { db } = services;
  const identifier = request.hardware_identifier ?? null;
  if (identifier !== null && !(await findHardware(db, identifier))) {
    throw invalid(
      ["body", "hardware_identifier"],
      `there is no hardware '${identifier}'; GET /v1/hardware lists it`,
    );
  }
  const now = Date.now();
  await insertModel(db, {
    id: uuid(),
    owner_id: caller.user_id,
    name: request.name,
    visibility: request.visibility,
    description: request.description,
    overview: request.overview,
    source_url: request.source_url ?? null,
    license_url: request.license_url ?? null,
    paper_url: request.paper_url ?? null,
    hardware_identifier: identifier,
    created_at: now,
    updated_at: now,
  }).catch(conflict(`You have a model '${request.name}' already.`));
  return getModel(services, caller, caller.username, request.name);
}

/** @throws ProblemError not_found, also for what the caller may not see */
export async function getModel(
  { db }: Services,
  caller: Caller | undefined,
  owner: string,
  name: string,
): Promise<ModelWithVersion> {
  const found = await findModel(db, owner, name);
  if (!found || !mayRead(found, caller)) throw notFound(`The model '${owner}/${name}'`);
  return { ...found, version: await findLatestVersion(db, found.model.id) };
}

/** @throws ProblemError not_found, forbidden; ValidationFailure */
export async function createVersion(
  services: Services,
  caller: Caller,
  owner: string,
  name: string,
  request: CreateVersion,
): Promise<VersionRow> {
  const found = await getModel(services, caller, owner, name);
  if (found.model.owner_id !== caller.user_id) {
    throw new ProblemError("forbidden", `Only its owner publishes versions of '${owner}/${name}'.`);
  }
  const { input, output } = request.schemas.prediction;
  checkSchema(input, ["body", "schemas", "prediction", "input"]);
  checkSchema(output, ["body", "schemas", "prediction", "output"]);
  const configuration = request.configuration ?? found.version?.configuration ?? {};
  if (configuration.image && !mayUseImage(services, caller, configuration.image)) {
    throw invalid(
      ["body", "configuration", "image"],
      `'${configuration.image}' is not below ${services.settings.imageRegistry}/${caller.username}/; the operator can allow it with IMAGE_ALLOW_LIST`,
    );
  }
  const hardware = configuration.hardware_identifier;
  if (hardware && !(await findHardware(services.db, hardware))) {
    throw invalid(
      ["body", "configuration", "hardware_identifier"],
      `there is no hardware '${hardware}'`,
    );
  }
  const version = await insertVersion(services.db, {
    model_id: found.model.id,
    release_notes: request.release_notes,
    container_image_digest: request.container_image_digest,
    schemas: request.schemas,
    compatibilities: request.compatibilities,
    configuration,
    size: 0,
    created_at: Date.now(),
  });
  targets.forget(`${owner}/${name}`);
  return version;
}

/** An owner's own path in the registry, or what the operator has allowed. */
function mayUseImage({ settings }: Services, caller: Caller, repository: string): boolean {
  if (repository.startsWith(`${settings.imageRegistry}/${caller.username}/`)) return true;
  return settings.imageAllowList.some((allowed) =>
    allowed.endsWith("/*") ? repository.startsWith(allowed.slice(0, -1)) : repository === allowed,
  );
}

const conflict = (detail: string) => (error: unknown) => {
  throw isDuplicate(error) ? new ProblemError("conflict", detail) : error;
};
