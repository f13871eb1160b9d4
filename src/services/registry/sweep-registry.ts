/**
 * Removes what nothing needs any more, in bounded steps: uploads that stopped, blobs that no manifest names, manifests
 * that no tag, version or prediction needs, and what all of these had in R2. Never what a push under way may count on.
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

/** Nothing has come for an upload for so long, and for one that was only begun. */
const UPLOAD_MS = DAY_MS;
const UNUSED_UPLOAD_MS = 10 * MINUTE_MS;

/**
 * The longest push: what was uploaded, or found to be there, at its beginning is still there at its end. R2 keeps
 * the parts of an upload for as long.
 */
export const PUSH_MS = 7 * DAY_MS;

/** Of each kind, in one step. */
const ROWS = 200;

/** Of deleted models, in one step: 1,000 tags take D1 10 ms. */
const RELEASED = { models: 50, rows: 1_000 };

/** As many versions as a model can have. */
const HOLDS = 1_000;

/** Of one sweep. */
const STEPS = 10;
const MAX_MS = 20_000;

export async function sweepRegistry(services: Services, now: number): Promise<void> {
  const { db } = services;
  // A backup's rows come after those that they need, and its objects may be there before all of them.
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
  // An account makes up to 200 a second (RATE_LIMIT_REGISTRY), which count for nobody while they lie there.
  while (Date.now() < end && (await collectGarbage(services)) > 0);
}
