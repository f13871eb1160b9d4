/** Removes backups beyond those that are kept, and the parts of backups that were never finished. */
import { deleteSome, listBackups, listBegun, writtenAt } from "../../storage/backups/bucket.ts";
import type { Services } from "../services.ts";

/** How long an unfinished backup is kept: somebody may be uploading it, part by part. */
const UNFINISHED_MS = 2 * 86_400_000;
/** Calls per sweep, which delete 1,000 parts each. The next sweep deletes the rest. */
const MAX_CALLS = 100;

export async function removeOldBackups({ env: { BACKUPS }, settings }: Services): Promise<void> {
  const whole = (await listBackups(BACKUPS)).map(({ id }) => id);
  const kept = new Set(whole.slice(0, settings.backupKeep));
  const old = whole.slice(settings.backupKeep);
  const before = Date.now() - UNFINISHED_MS;
  for (const id of await listBegun(BACKUPS)) {
    if (kept.has(id) || old.includes(id)) continue;
    const at = await writtenAt(BACKUPS, id);
    if (at !== undefined && at < before) old.push(id);
  }
  let calls = 0;
  for (const id of old) {
    let isLeft = true;
    while (isLeft) {
      if (calls++ === MAX_CALLS) return;
      isLeft = await deleteSome(BACKUPS, id);
    }
  }
}
