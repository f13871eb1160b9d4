/** The storage quota of an account in the database. */
import { conflict, ProblemError } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import {
  findTotalBytes,
  isDatabaseFull,
  isOverQuota,
  type StorageQuota,
} from "../../storage/accounts/account-bytes.ts";
import type { Services } from "../services.ts";

export const quotaOf = (
  { settings }: Services,
  userId: string,
  max = settings.accountBytes,
): StorageQuota => ({
  user_id: userId,
  max_bytes: max,
  max_total_bytes: settings.databaseBytes,
});

/** @throws ProblemError conflict when a write exceeds the account's quota; unavailable when the database is full */
export async function withinQuota<Row>(services: Services, writing: Promise<Row>): Promise<Row> {
  try {
    return await writing;
  } catch (error) {
    if (isDatabaseFull(error)) throw databaseFull();
    throw isOverQuota(error) ? full(services) : error;
  }
}

function full({ settings }: Services): ProblemError {
  const megabytes = settings.accountBytes / 1_000_000;
  return conflict(
    `The account has reached its storage quota of ${megabytes} MB. Delete unused versions, models, variables, tokens or uploads, or shorten overviews. The operator can raise ACCOUNT_MB.`,
  );
}

const databaseFull = () =>
  new ProblemError(
    "unavailable",
    "The database of this deployment is full. Delete unused models, versions, variables or uploads, or contact the operator.",
    { "retry-after": "3600" },
  );

/** The part of the database from which operators are warned: there is time left to find out what fills it. */
const WARNED_PART = 0.8;

export interface DatabaseSpace {
  bytes: number;
  max_bytes: number;
  isNearlyFull: boolean;
}

/** Returns the bytes that all accounts take of the database, and how many they may. */
export async function readDatabaseSpace({ db, settings }: Services): Promise<DatabaseSpace> {
  const bytes = await findTotalBytes(db);
  const max_bytes = settings.databaseBytes;
  return { bytes, max_bytes, isNearlyFull: bytes >= WARNED_PART * max_bytes };
}

/** Warns operators in the log; the Fleet page warns as well. */
export async function sweepDatabaseSpace(services: Services): Promise<void> {
  const { bytes, max_bytes, isNearlyFull } = await readDatabaseSpace(services);
  if (isNearlyFull) logger.warn("Database nearly full", { bytes, max_bytes });
}
