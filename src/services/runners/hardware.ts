/** Hardware classes, which the operator manages. */
import { type Loc, unknownNameIssues } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import { DEFAULT_HARDWARE, type Hardware, type PutHardware } from "../../protocol/hardware.ts";
import {
  deleteHardware as deleteRow,
  findAllHardware,
  findHardware,
  listHardware as hardwareOf,
  saveHardware,
} from "../../storage/runners/hardware.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { placePool } from "./pools.ts";

/** @param db what is read: by default the primary */
export const listHardware = (
  services: Services,
  request: PageRequest,
  db = services.db,
): Promise<Page<Hardware>> =>
  paginate(services, request, {
    name: "hardware",
    find: (keyset) => hardwareOf(db, keyset),
    keyOf: ({ identifier }) => [identifier],
    present: services.present.hardware,
  });

/** @throws ProblemError not_found */
export async function getHardware(
  { db, present }: Services,
  identifier: string,
): Promise<Hardware> {
  const row = await findHardware(db, identifier);
  if (!row) throw notFound(`The hardware '${identifier}'`);
  return present.hardware(row);
}

/** @throws ProblemError conflict for an existing identifier */
export async function createHardware(
  services: Services,
  identifier: string,
  request: PutHardware,
): Promise<Hardware> {
  if (await findHardware(services.db, identifier))
    throw conflict(`The hardware '${identifier}' already exists.`);
  return putHardware(services, identifier, request);
}

/**
 * Creates or updates a hardware class. With a `location_hint`, its pool is made at once, there.
 * @throws ProblemError conflict when the pool is somewhere else already
 */
export async function putHardware(
  services: Services,
  identifier: string,
  { location_hint: wanted, ...request }: PutHardware,
): Promise<Hardware> {
  const { db, present } = services;
  const known = await findHardware(db, identifier);
  const location_hint = wanted === undefined ? (known?.location_hint ?? null) : wanted;
  const pool_made_at = await placePool(services, identifier, known, location_hint);
  const row = { identifier, ...request, location_hint, created_at: Date.now() };
  return present.hardware(
    await saveHardware(db, pool_made_at === null ? row : { ...row, pool_made_at }),
  );
}

/** Validation issues for hardware that does not exist. */
export async function unknownHardware(
  { db }: Services,
  identifiers: string[],
  locOf: (n: number) => Loc,
): Promise<ValidationIssue[]> {
  if (identifiers.length === 0) return [];
  const found = await findAllHardware(db, identifiers);
  const known = found.map(({ identifier }) => identifier);
  return unknownNameIssues(identifiers, known, locOf, "/v1/hardware");
}

/** @throws ProblemError not_found; conflict while a model or version uses it, or for the default */
export async function deleteHardware({ db }: Services, identifier: string): Promise<void> {
  if (identifier === DEFAULT_HARDWARE)
    throw conflict(
      `'${identifier}' cannot be deleted: models without a hardware setting run on it.`,
    );
  if (await deleteRow(db, identifier)) return;
  if (!(await findHardware(db, identifier))) throw notFound(`The hardware '${identifier}'`);
  throw conflict(
    `Models or versions use '${identifier}'. Change it in the models' settings; versions that use it must be deleted by their owners.`,
  );
}
