/** Somebody who looks at the lists all the time: they may lag, but nothing in them goes back. */
import { pageOf } from "../../../src/protocol/common.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import type { Call } from "../plan/calls.ts";
import { type Ground, pause } from "./ground.ts";

const LOOK_MS = 2_000;
const TIMEOUT_MS = 10_000;
const PATH = "/predictions?page_size=50";

const page = pageOf(prediction);

/** Until all patience is over. */
export async function watchLists(ground: Ground): Promise<void> {
  const accounts: Call["account"][] = ["ada", "bob"];
  while (!ground.over.aborted) {
    await Promise.all(accounts.map((account) => look(ground, account)));
    await pause(ground, LOOK_MS);
  }
}

async function look({ clientOf, recorder }: Ground, account: Call["account"]): Promise<void> {
  const askedAt = Date.now();
  const client = clientOf({ account, overCable: false });
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { items } = await client.call(page, "GET", PATH, { signal });
    const seenAt = Date.now();
    for (const { id, status } of items)
      recorder.history.sightings.push({ id, by: "list", status, askedAt, seenAt });
  } catch {
    // The control plane is away.
  }
}
