/**
 * Endpoints of accounts as this isolate knows them, for creates and deliveries, which are too many
 * to ask D1 each time. A change elsewhere is known here 10 s later at most.
 */
import { healthAfter, type Try } from "../domain/webhook/health.ts";
import { remembered } from "./cache.ts";
import type { Database } from "./database.ts";
import {
  findEndpoint,
  listEnabled,
  saveHealth,
  type WebhookEndpointRow,
} from "./webhook-endpoints.ts";

const enabled = remembered({ max: 10_000 }, (db: Database, userId: string) =>
  listEnabled(db, userId),
);
const rows = remembered({ max: 10_000 }, (db: Database, id: string) => findEndpoint(db, id));

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
  const { id, user_id, failing_since } = endpoint;
  const health = healthAfter(endpoint, one);
  if (!health) return;
  Object.assign(endpoint, health);
  // Who is gone for good is gone whatever was known of it before.
  const condition = one.outcome.final ? { at: one.at } : { at: one.at, failing_since };
  const saved = await saveHealth(db, id, health, condition).catch((error: unknown) => {
    forgetEndpoints(user_id, id);
    throw error;
  });
  if (!saved || !health.enabled) forgetEndpoints(user_id, id);
}
