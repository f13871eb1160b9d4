/** Uploads in parts that runners have begun for the outputs of a prediction. */
import type { Bindings } from "../../env.ts";
import { database } from "../../storage/database.ts";
import { abortMultipart } from "../../storage/files/files.ts";
import { deleteUploads, type listPendingUploadsOf } from "../../storage/files/uploads.ts";

/** Uploads that are ended at a time: each is a call to R2. */
const UPLOADS = 100;

/**
 * Ends uploads that runners have begun for a prediction, and deletes their rows. The sweep would find them a day later.
 * @param list which of them
 */
export async function endUploads(
  env: Bindings,
  predictionId: string,
  list: typeof listPendingUploadsOf,
): Promise<void> {
  const db = database(env.DB);
  for (;;) {
    const rows = await list(db, predictionId, UPLOADS);
    if (rows.length === 0) return;
    const pending = rows.filter(({ completed_at }) => completed_at === null);
    await Promise.all(pending.map((row) => abortMultipart(env.FILES, row)));
    await deleteUploads(
      db,
      rows.map(({ id }) => id),
    );
  }
}
