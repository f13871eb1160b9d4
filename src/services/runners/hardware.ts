/** Hardware classes, which the operator manages. */
import { type Loc, unknownNameIssues } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import type { ValidationIssue } from "../../protocol/common.ts";
import { DEFAULT_HARDWARE, type Hardware, type PutHardware } from "../../protocol/hardware.ts";
import { amountText } from "../../protocol/money.ts";
import {
  deleteHardware as deleteRow,
  findAllHardware,
  findAmbiguous,
  findHardware,
  type HardwareRow,
  listHardware as hardwareOf,
  saveHardware,
} from "../../storage/runners/hardware.ts";
import { findPools } from "../../storage/runners/pools.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetTargets } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { placePool } from "./pools.ts";

/** @param db the database to read: by default the primary */
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

/** More classes than an installation has. */
const MAX_CLASSES = 1_000;

/**
 * Lists all classes. A form offers all of them, because saving it would drop a class that is not among its choices.
 * @param from the database to read: by default the primary
 */
export const listAllHardware = async ({ db, present }: Services, from = db): Promise<Hardware[]> =>
  (await hardwareOf(from, { from: undefined, back: false, limit: MAX_CLASSES })).map(
    present.hardware,
  );

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
 * Creates or updates a hardware class. With a `location_hint`, its pool is made there at once; a pool that is
 * made already keeps its location, for all its classes.
 * @throws ProblemError conflict when the pool is somewhere else already, or the class in another pool
 */
export async function putHardware(
  services: Services,
  identifier: string,
  { location_hint: wanted, pool: wantedPool, ...request }: PutHardware,
): Promise<Hardware> {
  const { db, present } = services;
  const known = await findHardware(db, identifier);
  const pool = wantedPool ?? known?.pool ?? identifier;
  await checkPool(services, identifier, known, pool);
  const [place] = await findPools(db, [pool]);
  const location_hint = wanted === undefined ? (place?.location_hint ?? null) : wanted;
  const made_at = await placePool(services, pool, place, location_hint);
  const row = { identifier, pool, ...request, created_at: Date.now() };
  const entry = auditEntry({
    action: known ? "hardware.updated" : "hardware.created",
    ...ofHardware(identifier),
    ...(known && { before: shownPrice(known) }),
    after: shownPrice({ ...request, pool, location_hint }),
  });
  const saved = await saveHardware(db, row, { location_hint, made_at }, entry);
  forgetTargets();
  return present.hardware(saved);
}

/** An entry of the audit log has the price as requests and responses have it. */
const shownPrice = <Row extends { price_per_hour: number | null }>(row: Row) => ({
  ...row,
  price_per_hour: row.price_per_hour === null ? null : amountText(row.price_per_hour),
});

const ofHardware = (identifier: string) => ({
  account_id: null,
  targets: [{ type: "hardware", id: identifier, name: identifier }],
});

/** @throws ProblemError conflict when a class cannot stand in this pool */
async function checkPool(
  { db }: Services,
  identifier: string,
  known: HardwareRow | undefined,
  pool: string,
): Promise<void> {
  if (known?.pool === pool) return;
  if (known && known.pool_made_at !== null)
    throw conflict(
      `'${identifier}' is in the pool '${known.pool}', which is already in use. Keep its pool, or create another class with the pool '${pool}'.`,
    );
  const other = await findAmbiguous(db, identifier, pool);
  if (!other) return;
  throw conflict(
    other.identifier === pool
      ? `'${pool}' is a class in the pool '${other.pool}', so no other pool can have that name. Use '${other.pool}', or another name.`
      : `'${other.identifier}' is in the pool '${identifier}', so the class '${identifier}' cannot be in '${pool}'. Use the pool '${identifier}', or create the class under another name.`,
  );
}

export async function groupByPool({ db }: Services, identifiers: string[]): Promise<string[][]> {
  const found = await findAllHardware(db, identifiers);
  const pools = Map.groupBy(found, ({ pool }) => pool);
  return [...pools.values()].map((classes) => classes.map(({ identifier }) => identifier));
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

/** @throws ProblemError not_found; conflict while a model, version or deployment uses it, or for the default */
export async function deleteHardware({ db }: Services, identifier: string): Promise<void> {
  if (identifier === DEFAULT_HARDWARE)
    throw conflict(
      `'${identifier}' cannot be deleted: models without a hardware setting run on it.`,
    );
  const entry = auditEntry({ action: "hardware.deleted", ...ofHardware(identifier) });
  if (await deleteRow(db, identifier, entry)) return;
  if (!(await findHardware(db, identifier))) throw notFound(`The hardware '${identifier}'`);
  throw conflict(
    `Models, versions or deployments use '${identifier}'. Change it in the settings of models and deployments; versions that use it must be deleted by their owners.`,
  );
}
