/**
 * Removes unneeded data of the registry, in bounded steps: uploads that stopped, blobs that no manifest
 * names, manifests that no tag, version or prediction needs, and the objects of all these in R2. Data that a
 * push under way may rely on stays.
 */
import { collectLinks, collectManifests } from "../../storage/registry/collection.ts";
import { endHolds, releaseImages } from "../../storage/registry/release.ts";
import { endUpload, listStaleUploads } from "../../storage/registry/uploads.ts";
import { awaitsRestore } from "../backups/restore.ts";
import type { Services } from "../services.ts";
import { collectGarbage } from "./garbage.ts";
import { dropStrays } from "./strays.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** How long an upload may receive nothing, and how long one that was only begun may. */
const UPLOAD_MS = DAY_MS;
const UNUSED_UPLOAD_MS = 10 * MINUTE_MS;

/**
 * The longest push: blobs that were uploaded or found at its beginning are still there at its end. R2 keeps
 * the parts of an upload for as long.
 */
export const PUSH_MS = 7 * DAY_MS;

/** The rows of each kind in one step. */
const ROWS = 200;

/** The deleted models and their rows in one step: 1,000 tags take D1 10 ms. */
const RELEASED = { models: 50, rows: 1_000 };

/** The holds of one step: as many as the versions that a model can have. */
const HOLDS = 1_000;

/** The limits of one sweep. */
const STEPS = 10;
const MAX_MS = 20_000;

export async function sweepRegistry(services: Services, now: number): Promise<void> {
  const { db } = services;
  // The rows of a backup that is being restored come after those that they need, and its objects may be there
  // before its rows.
  if (await awaitsRestore(services)) return;
  const end = Date.now() + MAX_MS;
  await dropStrays(services, now, end);
  const step = { before: now - PUSH_MS, now, limit: ROWS };
  for (let steps = 0; steps < STEPS && Date.now() < end; steps++) {
    const holds = await endHolds(db, now, HOLDS);
    const released = await releaseImages(db, RELEASED);
    const stale = await listStaleUploads(db, {
      before: now - UPLOAD_MS,
      unused: now - UNUSED_UPLOAD_MS,
      limit: ROWS,
    });
    for (const upload of stale) await endUpload(db, upload);
    const manifests = await collectManifests(db, step);
    const links = await collectLinks(db, step);
    const objects = await collectGarbage(services);
    if (holds + released + stale.length + manifests + links + objects === 0) return;
  }
  // Garbage is collected without a limit of steps: an account makes up to 200 objects a second
  // (RATE_LIMIT_REGISTRY), which count for no quota.
  while (Date.now() < end && (await collectGarbage(services)) > 0);
}
