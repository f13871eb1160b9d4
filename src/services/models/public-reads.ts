/**
 * Chooses the copy of D1 for lists that everybody may see. A visitor reads the nearest copy (read
 * replication). A caller with a token or a session reads the primary, since callers expect to see what they
 * have just written. Copies lag behind by any time, so the primary says which models are hidden.
 */

import { cached } from "../../storage/cache.ts";
import { type Database, nearest } from "../../storage/database.ts";
import { listHidden } from "../../storage/models/models.ts";
import type { Services } from "../services.ts";

export interface PublicReads {
  db: Database;
  /** Ids of models that a copy may still take for public. */
  hidden: readonly string[];
}

/** The longest that a copy is believed to lag behind. */
const LAG_MS = 86_400_000;
/**
 * If more models became private meanwhile, the primary is read: each costs every list of a visitor one or two
 * rows.
 */
const MAX_HIDDEN = 100;

const hiddenModels = cached({ max: 1 }, ({ db }: Services, _: "models") =>
  listHidden(db, Date.now() - LAG_MS, MAX_HIDDEN + 1),
);

/**
 * After a model becomes private, it leaves the lists of this isolate at once, and those of others within 10
 * s.
 */
export const forgetHidden = hiddenModels.forgetAll;

/** @param caller undefined: a visitor */
export async function publicReads(
  services: Services,
  caller: object | undefined,
): Promise<PublicReads> {
  const { env, db } = services;
  const rows = caller ? undefined : await hiddenModels.get(services, "models");
  if (!rows || rows.length > MAX_HIDDEN) return { db, hidden: [] };
  return { db: nearest(env.DB), hidden: rows.map(({ id }) => id) };
}

/** The database for lists in which nothing is hidden from anybody. */
export const databaseFor = ({ env, db }: Services, caller: object | undefined): Database =>
  caller ? db : nearest(env.DB);
