/**
 * Endpoints of an account, which get the events of all its predictions. Only one account has
 * endpoints: predictions without receivers take shorter code paths, which those of the others do.
 */

import type { Client } from "../../../src/dev/client.ts";
import { pageOf } from "../../../src/protocol/common.ts";
import { prediction } from "../../../src/protocol/prediction.ts";
import { createdEndpointSecret, createdWebhookEndpoint } from "../../../src/protocol/webhook.ts";
import type { Bed } from "../bed.ts";
import { rowsOf } from "../evidence/list.ts";
import type { Endpoint } from "../history.ts";
import type { EndpointPlan } from "../plan/endpoints.ts";
import { OWNERS, PAYERS, type Payer } from "../plan/teams.ts";
import type { Recorder } from "../recorder.ts";
import { BUDGETED, lookAtBudgets } from "./budgets.ts";
import { type Ground, pause } from "./ground.ts";

const ACCOUNT = "bob";

/** Opens endpoints. Each has two secrets, as during a replacement. */
export async function openEndpoints(
  { clients, receiver, receiverCable }: Bed,
  plans: EndpointPlan[],
): Promise<Endpoint[]> {
  const client = clients[ACCOUNT];
  const opened = plans.map(async ({ path, events, overCable, meets }): Promise<Endpoint> => {
    receiver.script(path, meets);
    const url = `${(overCable ? receiverCable : receiver).url}${path}`;
    const body = { url, events };
    const { id, secret } = await client.call(createdWebhookEndpoint, "POST", "/webhook-endpoints", {
      body,
    });
    const more = `/webhook-endpoints/${id}/secrets`;
    const { secret: next } = await client.call(createdEndpointSecret, "POST", more);
    return { id, account: ACCOUNT, path, events, secrets: [secret, next] };
  });
  return Promise.all(opened);
}

const LOOK_MS = 2_000;
const TIMEOUT_MS = 10_000;
const PATH = "/predictions?page_size=50";

const page = pageOf(prediction);

/** Reads the lists until `over` is aborted. */
export async function watchLists(ground: Ground): Promise<void> {
  while (!ground.over.aborted) {
    const looks = PAYERS.flatMap((account) => {
      const client = ground.clientOf({ by: OWNERS[account], overCable: false });
      return [lookAtNewest(ground.recorder, client, account), lookAtOpen(ground.recorder, client)];
    });
    const budgets = BUDGETED.map(async (account) => {
      const client = ground.clientOf({ by: OWNERS[account], overCable: false });
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const seen = await lookAtBudgets(client, account, signal);
      ground.recorder.history.budgetLooks.push(...seen);
    });
    // The control plane may be down.
    await Promise.allSettled([...looks, ...budgets]);
    await pause(ground, LOOK_MS);
  }
}

async function lookAtNewest(recorder: Recorder, client: Client, account: Payer): Promise<void> {
  const askedAt = Date.now();
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const { items, next_cursor } = await client.call(page, "GET", PATH, { signal });
  recorder.listed(items, askedAt);
  const since = next_cursor === null ? "" : (items.at(-1)?.id ?? "");
  recorder.history.looks.push({ account, askedAt, since, ids: items.map(({ id }) => id) });
}

/**
 * Reads all pending and started rows of an account, of any age: a prediction that has ended must not stay
 * among them.
 */
async function lookAtOpen(recorder: Recorder, client: Client): Promise<void> {
  const askedAt = Date.now();
  recorder.listed(await rowsOf(client, "pending", "started"), askedAt);
}
