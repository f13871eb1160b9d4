/**
 * A cache of webhook endpoints for deliveries, which are too frequent to ask D1 each time.
 * Changes made in another isolate are noticed within 10 s.
 */
import { healthAfter, type Try } from "../../domain/webhooks/health.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";
import { forgetFacts } from "./account-facts.ts";
import { clearFailures, findEndpoint, saveHealth, type WebhookEndpointRow } from "./endpoints.ts";

const rows = cached({ max: 10_000 }, async (db: Database, id: string) => {
  const askedAt = Date.now();
  const row = await findEndpoint(db, id);
  if (row) unconfirmed.set(row, askedAt);
  return row;
});

/** When a row was requested, for rows without a recorded success since then. */
const unconfirmed = new WeakMap<WebhookEndpointRow, number>();

/** Returns undefined if the endpoint was deleted. */
export const getCachedEndpoint = (
  db: Database,
  id: string,
): Promise<WebhookEndpointRow | undefined> => rows.get(db, id);

export function forgetEndpoints(userId: string, id?: string): void {
  forgetFacts(userId);
  if (id !== undefined) rows.forget(id);
}

/**
 * Updates an endpoint's health after an attempt, only if it changes.
 * @param endpoint the object that `getCachedEndpoint` returned for the attempt. All attempts of an isolate
 * share it, so that of thousands failing at once only one writes.
 */
export async function recordOutcome(
  db: Database,
  endpoint: WebhookEndpointRow,
  one: Try,
): Promise<void> {
  let isKnown = false;
  try {
    isKnown = await write(db, endpoint, one);
  } finally {
    if (!isKnown) forgetEndpoints(endpoint.user_id, endpoint.id);
  }
}

/** @returns whether the cached endpoint is still current and enabled */
async function write(db: Database, endpoint: WebhookEndpointRow, one: Try): Promise<boolean> {
  const { id, updated_at, failing_since } = endpoint;
  const basis = { at: one.at, updated_at };
  const health = healthAfter(endpoint, one);
  if (health) {
    unconfirmed.delete(endpoint);
    Object.assign(endpoint, health);
    // A final answer counts whatever the previous state was.
    const whole = one.outcome.final ? basis : { ...basis, failing_since };
    return (await saveHealth(db, id, health, whole)) && health.enabled;
  }
  if (one.outcome.error === null && failing_since === null && confirms(endpoint, one.at)) {
    await clearFailures(db, id, basis);
  }
  return true;
}

/**
 * Whether a success should be recorded because other isolates may have recorded failures since the row was
 * read. True once for each row, so thousands of successes cause one write in 10 s. An attempt for which the
 * row was just read needs no write, so occasional deliveries never write.
 */
function confirms(endpoint: WebhookEndpointRow, at: number): boolean {
  const askedAt = unconfirmed.get(endpoint);
  return askedAt !== undefined && at > askedAt && unconfirmed.delete(endpoint);
}
