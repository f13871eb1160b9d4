/** The calm after the storm: all accepted predictions end, and all webhooks arrive. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/dev/client.ts";
import { LOOK_MS } from "../../src/domain/predictions/prediction-row.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { runnerState } from "../../src/protocol/fleet.ts";
import type { Bed } from "./bed.ts";
import { rowsOf } from "./evidence/list.ts";
import { ledgerOf } from "./evidence/predictions.ts";
import { LAG_MS } from "./promises/lists.ts";
import type { Recorder } from "./recorder.ts";

const POLL_MS = 500;

/** Heals all cables; an operator resumes the runners that were set aside for minutes. */
export async function heal(bed: Bed, recorder: Recorder): Promise<void> {
  for (const cable of [...bed.cables, bed.callersCable, bed.receiverCable]) cable.heal();
  await until(async () => {
    const { items } = await bed.operator.call(pageOf(runnerState), "GET", "/operator/runners");
    for (const { id, name, set_aside_until } of items.filter((one) => one.set_aside_until)) {
      recorder.note("resumed", { name, set_aside_until });
      await bed.operator.call(runnerState, "POST", `/operator/runners/${id}/resume`);
    }
    return true;
  }, AbortSignal.timeout(RETURN_MS));
}

/** The time in which workerd returns after a kill, ms. */
const RETURN_MS = 30_000;

/**
 * The time after which a lagging row has broken a promise, unless the accounts' own check must mend it, ms.
 */
const SOON_MS = LAG_MS + 2_000;
const LATEST_MS = 60_000;

/** Waits until all rows say that their predictions have ended, and all webhooks are delivered. */
export async function settle(bed: Bed, recorder: Recorder): Promise<void> {
  const late = await rowsEnd(bed.clients, recorder, AbortSignal.timeout(SOON_MS));
  recorder.note("rows have settled", { late });
  if (late.length > 0) {
    recorder.fault("control plane: minutes pass", 0);
    await bed.restart(() => ageAccounts(bed.stateFolder));
    const left = await rowsEnd(bed.clients, recorder, AbortSignal.timeout(LATEST_MS));
    recorder.note("rows have settled after minutes", { left });
  }
  await until(async () => await allTold(bed.clients), AbortSignal.timeout(LATEST_MS));
  recorder.note("webhooks are told");
}

/** @returns the predictions whose rows still say that they have not ended */
async function rowsEnd(
  clients: Bed["clients"],
  recorder: Recorder,
  deadline: AbortSignal,
): Promise<string[]> {
  const open = async (client: Client) => {
    const askedAt = Date.now();
    const rows = await rowsOf(client, "pending", "started");
    recorder.listed(rows, askedAt);
    return rows.map(({ id }) => id);
  };
  let left: string[] = [];
  await until(async () => {
    left = (await Promise.all(Object.values(clients).map(open))).flat();
    return left.length === 0;
  }, deadline);
  return left;
}

async function allTold(clients: Bed["clients"]): Promise<boolean> {
  for (const client of Object.values(clients)) {
    for (const { id } of await rowsOf(client)) {
      const events = await ledgerOf(client, id);
      const pending = events.flatMap(({ deliveries }) => deliveries);
      if (pending.some(({ state }) => state === "pending")) return false;
    }
  }
  return true;
}

/** Waits until the condition holds, or the deadline has come. A call that breaks off is repeated. */
async function until(isSo: () => Promise<boolean>, deadline: AbortSignal): Promise<void> {
  while (!deadline.aborted && !(await isSo().catch(() => false))) await sleep(POLL_MS);
}

const NS_PER_MS = 1_000_000n;
/** The key under which workerd keeps the time of an object's own alarm, ns. */
const ALARM_KEY = 1;

function ageAccounts(stateFolder: string): void {
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
