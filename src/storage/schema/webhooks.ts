import { sql } from "drizzle-orm";
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { WebhookEventName } from "../../protocol/webhook.ts";
import { users } from "./accounts.ts";

/** Endpoints that receive the events of all predictions of an account. */
export const webhookEndpoints = sqliteTable(
  "webhook_endpoints",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    url: text().notNull(),
    description: text().notNull(),
    events: text({ mode: "json" }).$type<WebhookEventName[]>().notNull(),
    /** The secrets. Each of them signs every delivery. */
    secrets: text({ mode: "json" }).$type<EndpointSecret[]>().notNull(),
    enabled: integer({ mode: "boolean" }).notNull(),
    /** When the current run of failed attempts began. */
    failing_since: integer(),
    last_error: text(),
    /** Why the service disabled it. */
    notice: text(),
    created_at: integer().notNull(),
    /**
     * When the endpoint was last changed by its owner, or disabled by the service. Deliveries do not count.
     */
    updated_at: integer().notNull(),
  },
  (t) => [
    index("webhook_endpoints_user").on(t.user_id, t.id),
    index("webhook_endpoints_disabled").on(t.updated_at).where(sql`notice IS NOT NULL`),
  ],
);

export interface EndpointSecret {
  id: string;
  secret: string;
  /** Whether the secret is encrypted (domain/webhooks/stored-secret.ts): not without a SECRET_KEY. */
  encrypted?: boolean;
  created_at: number;
}
