/**
 * Removes unneeded data of the registry, in bounded steps: uploads that stopped, blobs that no manifest
 * names, manifests that no tag, version or prediction needs, and the objects of all these in R2. Data that a
 * push under way may rely on stays.
 */

import { abortMultipart } from "../../storage/files/files.ts";
import {
  collectLinks,
  collectManifests,
  dropUnknown,
  forgetGarbage,
  listGarbage,
} from "../../storage/registry/collection.ts";
import { deleteObjects, listShare, SHARES } from "../../storage/registry/objects.ts";
import { endHolds, releaseImages } from "../../storage/registry/release.ts";
import { endUpload, listStaleUploads } from "../../storage/registry/uploads.ts";
import { awaitsRestore } from "../backups/restore.ts";
import type { Services } from "../services.ts";

/**
 * The objects and uploads of one step: R2 deletes 1,000 objects in one call, and aborts one upload in each.
 */
const AT_ONCE = { objects: 1_000, uploads: 100 };

/**
 * The age from which an object counts as a stray: the row of a younger one may still be written, which takes
 * moments.
 */
const MOMENTS_MS = 86_400_000;

/** The interval of shares: all are searched within 4.3 hours, for 43,000 lists a month. */
const SHARE_MS = 60_000;

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

const STEPS = 10;
const MAX_MS = 20_000;

export async function sweepRegistry(services: Services, now: number): Promise<void> {
  const { db } = services;
  // The rows of a backup that is being restored come after those that they need, and its objects may be there
  // before its rows.
  if (await awaitsRestore(services)) return;
  const end = Date.now() + MAX_MS;
  await dropOrphans(services, now, end);
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

/** Makes garbage of the orphans of one share. @param end when no further page is begun */
export async function dropOrphans({ db, env }: Services, now: number, end: number): Promise<void> {
  const share = Math.floor(now / SHARE_MS) % SHARES;
  for await (const objects of listShare(env.IMAGES, share)) {
    const old = objects.filter(({ uploaded }) => uploaded.getTime() < now - MOMENTS_MS);
    if (old.length > 0)
      await dropUnknown(
        db,
        old.map(({ key }) => key),
      );
    if (Date.now() >= end) return;
  }
}

/** @returns how many there were; if the deletion fails, they stay for the next time */
export async function collectGarbage({ db, env }: Services): Promise<number> {
  const found = await listGarbage(db, AT_ONCE);
  if (found.length === 0) return 0;
  const keys = found.map(({ key }) => key);
  await Promise.all(
    found.map(({ key, multipart_id }) =>
      multipart_id === null ? undefined : abortMultipart(env.IMAGES, { key, multipart_id }),
    ),
  );
  await deleteObjects(env.IMAGES, keys);
  await forgetGarbage(db, keys);
  return found.length;
}
