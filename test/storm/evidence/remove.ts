/** Removal of all that the accounts have: anything that is still there then belongs to nobody. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../../src/dev/client.ts";
import type { Bed } from "../bed.ts";
import { exportOf, rowsOf } from "./list.ts";

/** The time after which uploads that nobody completed are swept: UPLOAD_HOURS and an hour, ms. */
const UPLOADS_MS = 25 * 3_600_000;
/** The time of removals in the background, ms. */
const SETTLE_MS = 3_000;

export async function removeAll({ clients, deployment }: Bed): Promise<void> {
  for (const client of Object.values(clients)) {
    for (const { id } of await rowsOf(client)) await remove(client, `/predictions/${id}`);
    for (const line of await exportOf(client)) {
      if (line.type === "upload" && line.upload.status === "completed")
        await remove(client, `/uploads/${line.upload.id}`);
    }
  }
  await deployment.scheduled(new Date(Date.now() + UPLOADS_MS));
  await sleep(SETTLE_MS);
}

/** Removes a resource. Predictions that run are refused, which a promise reports by itself. */
const remove = async (client: Client, path: string): Promise<void> =>
  void (await (await client.fetch("DELETE", path)).text());
