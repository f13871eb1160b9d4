/**
 * Time travel for the account objects of a stopped deployment. After a restart a row may lag until its
 * account checks overdue rows (LOOK_MS in domain/predictions/prediction-row.ts), which takes longer than the
 * storm waits.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LOOK_MS } from "../../src/domain/predictions/prediction-row.ts";

const NS_PER_MS = 1_000_000n;
/** The key under which workerd keeps the time of an object's own alarm, ns. */
const ALARM_KEY = 1;

export function ageAccounts(stateFolder: string): void {
  const folder = join(stateFolder, "do", "auspex-AccountObject");
  const ns = BigInt(LOOK_MS) * NS_PER_MS;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".sqlite"))) {
    using db = new DatabaseSync(join(folder, file));
    if (file === "metadata.sqlite") {
      db.prepare("UPDATE _cf_ALARM SET scheduled_time = scheduled_time - ?").run(ns);
      continue;
    }
    db.prepare("UPDATE predictions SET due_at = due_at - ?").run(LOOK_MS);
    db.prepare("UPDATE _cf_METADATA SET value = value - ? WHERE key = ?").run(ns, ALARM_KEY);
  }
}
