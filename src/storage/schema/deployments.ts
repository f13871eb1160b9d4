/** Deployments: names that run one version, with settings of their own, and the releases of each. */
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { Json, Priority } from "../../protocol/common.ts";
import type { Fallback } from "../../protocol/deployment.ts";
import { users } from "./accounts.ts";
import { hardware } from "./runners.ts";

/** An owner's deployments and models share their names, by triggers. */
export const deployments = sqliteTable(
  "deployments",
  {
    id: text().primaryKey(),
    owner_id: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    created_at: integer().notNull(),
    /** The number of the release that runs. 0: the first has not started. */
    release: integer().notNull().default(0),
    /** The release that is starting, to replace it. */
    next_release: integer(),
    /** The release before, and until when its containers are kept for a roll-back. */
    previous_release: integer(),
    previous_until: integer(),
    /** When the release that is starting is started again, unless its start or probe ends before. */
    next_after: integer(),
    /** Containers that failed to start in a row, when the next is tried, and why the last one failed. */
    start_failures: integer().notNull().default(0),
    start_after: integer(),
    start_failure: text(),
    /** Containers that have started since a time, which is at most 10 minutes ago when one starts. */
    starts: integer().notNull().default(0),
    starts_since: integer(),
  },
  (t) => [
    uniqueIndex("deployments_owner_name").on(t.owner_id, t.name),
    index("deployments_owner").on(t.owner_id, t.id),
  ],
);

/**
 * The room of a release at its start. `beside`: its containers fit beside those of the release before, which are kept
 * for a roll-back. `replace`: at least one fits, and the others replace those. `stop`: none fits before those stop.
 */
export type Room = "beside" | "replace" | "stop";

/** A release never changes but for what became of it. */
export const releases = sqliteTable(
  "releases",
  {
    deployment_id: text()
      .notNull()
      .references(() => deployments.id, { onDelete: "cascade" }),
    number: integer().notNull(),
    /** The model may be another account's and be deleted: the release then does not run. */
    model_id: text().notNull(),
    version_number: integer().notNull(),
    hardware_identifier: text().notNull(),
    min_instances: integer().notNull(),
    max_instances: integer().notNull(),
    /** Null: as the version has it. */
    idle_seconds: real(),
    max_concurrency: integer(),
    priority: text().$type<Priority>(),
    /** The input of the run that must succeed before the release takes over. Null: its container must start. */
    probe: text({ mode: "json" }).$type<{ input: Record<string, Json> }>(),
    /** Models or versions that answer in turn if the version cannot: `owner/name` or `owner/name:number`. */
    fallbacks: text({ mode: "json" }).$type<Fallback[]>().notNull().default([]),
    room: text().$type<Room>().notNull().default("beside"),
    created_at: integer().notNull(),
    /** The user who made it. Null: a service token. */
    created_by: text(),
    /** When a later release took over, or this one failed to start, and then why. */
    ended_at: integer(),
    failure: text(),
  },
  (t) => [
    primaryKey({ columns: [t.deployment_id, t.number] }),
    index("releases_version").on(t.model_id, t.version_number),
    index("releases_hardware").on(t.hardware_identifier),
  ],
);

/** How many containers of a class the deployments of an account may claim. No row: none. */
export const capacityGrants = sqliteTable(
  "capacity_grants",
  {
    account_id: text()
      .notNull()
      .references(() => users.id),
    hardware_identifier: text()
      .notNull()
      .references(() => hardware.identifier, { onDelete: "cascade" }),
    instances: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.hardware_identifier] })],
);
