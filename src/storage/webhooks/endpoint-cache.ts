/**
 * Endpoints of accounts as this isolate knows them, for creates and deliveries, which are too many
 * to ask D1 each time. A change elsewhere is known here 10 s later at most.
 */
import { healthAfter, type Try } from "../../domain/webhooks/health.ts";
import { remembered } from "../cache.ts";
import type { Database } from "../database.ts";
import {
  endFailing,
  findEndpoint,
  listEnabled,
  saveHealth,
  type WebhookEndpointRow,
} from "./endpoints.ts";

const enabled = remembered({ max: 10_000 }, (db: Database, userId: string) =>
  listEnabled(db, userId),
);
const rows = remembered({ max: 10_000 }, async (db: Database, id: string) => {
  const askedAt = Date.now();
  const row = await findEndpoint(db, id);
  if (row) unconfirmed.set(row, askedAt);
  return row;
});

/** When rows were asked for of which no later success has been written yet. */
const unconfirmed = new WeakMap<WebhookEndpointRow, number>();

/** Those that are on, and what they want to know. An account that has none is remembered, too. */
export const endpointsOf = async (
  db: Database,
  userId: string,
): Promise<Pick<WebhookEndpointRow, "id" | "events">[]> => (await enabled.get(db, userId)) ?? [];

/** undefined when it is deleted. */
export const endpointOf = (db: Database, id: string): Promise<WebhookEndpointRow | undefined> =>
  rows.get(db, id);

/** After a change. */
export function forgetEndpoints(userId: string, id?: string): void {
  enabled.forget(userId);
  if (id !== undefined) rows.forget(id);
}

/**
 * What a try tells of its endpoint: written only when that is news.
 * @param endpoint the very object that `endpointOf` gave for the try: all tries of an isolate share
 * it, so that of thousands that fail together one writes.
 */
export async function noteOutcome(
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

/** @returns whether the endpoint is as it was known, and still on */
async function write(db: Database, endpoint: WebhookEndpointRow, one: Try): Promise<boolean> {
  const { id, updated_at, failing_since } = endpoint;
  const basis = { at: one.at, updated_at };
  const health = healthAfter(endpoint, one);
  if (health) {
    unconfirmed.delete(endpoint);
    Object.assign(endpoint, health);
    // Who is gone for good is gone whatever was known of it before.
    const whole = one.outcome.final ? basis : { ...basis, failing_since };
    return (await saveHealth(db, id, health, whole)) && health.enabled;
  }
  if (one.outcome.error === null && failing_since === null && confirms(endpoint, one.at)) {
    await endFailing(db, id, basis);
  }
  return true;
}

/**
 * Whether a success may be news to other isolates, which have noted failures since the row was
 * read: true once for each row, so that thousands of successes are one write in 10 s. A try that
 * had to read the row itself knows no more than that: of few deliveries none writes.
 */
function confirms(endpoint: WebhookEndpointRow, at: number): boolean {
  const askedAt = unconfirmed.get(endpoint);
  return askedAt !== undefined && at > askedAt && unconfirmed.delete(endpoint);
}
