/** Objects that nothing names, since a request ended between storing one in R2 and noting it in the database. */
import { dropUnknown } from "../../storage/registry/garbage.ts";
import { listShare, SHARES } from "../../storage/registry/objects.ts";
import type { Services } from "../services.ts";

/** Until then an object may still be noted: a request that has stored one needs moments. */
const MOMENTS_MS = 86_400_000;

/** One share in each minute: all within 4.3 hours, for 43,000 lists a month. */
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
