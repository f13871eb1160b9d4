/**
 * Where lists that everybody may see are read: by a visitor from the copy of D1 that is nearest (read
 * replication), by a caller with a token or a session from the primary, since he expects to see what he has
 * just written. Copies lag behind by any time, so which models are hidden is asked of the primary.
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

/** No copy lags behind for so long. */
const LAG_MS = 86_400_000;
/** If more became private meanwhile, the primary is read: each costs every list of a visitor one or two rows. */
const MAX_HIDDEN = 100;

const hiddenModels = cached({ max: 1 }, ({ db }: Services, _: "models") =>
  listHidden(db, Date.now() - LAG_MS, MAX_HIDDEN + 1),
);

/** A model that becomes private is in no list of this isolate from now on, and within 10 s in none. */
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

/** For lists in which nothing is hidden from anybody. */
export const databaseFor = ({ env, db }: Services, caller: object | undefined): Database =>
  caller ? db : nearest(env.DB);
