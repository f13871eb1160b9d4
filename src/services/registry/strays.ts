/** Finds strays: objects in R2 that nothing names, since a request ended before it wrote their row. */
import { dropUnknown } from "../../storage/registry/garbage.ts";
import { listShare, SHARES } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

/**
 * The age from which an object counts as a stray: the row of a younger one may still be written, which takes
 * moments.
 */
const MOMENTS_MS = 86_400_000;

/** The interval of shares: all are searched within 4.3 hours, for 43,000 lists a month. */
const SHARE_MS = 60_000;

/** Makes garbage of the strays of one share. @param end when no further page is begun */
export async function dropStrays({ db, env }: Services, now: number, end: number): Promise<void> {
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
