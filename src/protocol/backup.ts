/** Backups in the operator's API. */

import { z } from "zod";
import { BUDGET_LEVELS, BUDGET_WINDOWS } from "./budget.ts";
import { integerText, orNull, timestamp, uuid } from "./common.ts";
import { taskStatus } from "./prediction.ts";
import { storedSums } from "./usage.ts";

const ID = "019ab4c2-7f31-7d52-8e0b-5a1c9e42d7f0";

export const backup = z
  .object({
    id: uuid.meta({ example: ID }),
    started_at: timestamp,
    finished_at: timestamp,
    parts: z
      .int()
      .meta({ description: "Number of parts, without part 0, the manifest", example: 24 }),
    rows: z.int().meta({ example: 18_204 }),
    bytes: z.int().meta({ description: "Total size of the parts", example: 1_310_720 }),
  })
  .meta({ id: "Backup", description: "A complete backup, encrypted with BACKUP_KEY" });
export type Backup = z.infer<typeof backup>;

export const backupUnderWay = z
  .object({
    id: uuid.meta({ example: ID }),
    started_at: timestamp,
    parts: z.int().meta({ description: "Parts written so far", example: 7 }),
  })
  .meta({ id: "BackupUnderWay", description: "A backup in progress" });
export type BackupUnderWay = z.infer<typeof backupUnderWay>;

export const backupList = z
  .object({
    enabled: z.boolean().meta({ description: "Whether BACKUP_KEY is set and long enough" }),
    under_way: orNull(backupUnderWay),
    backups: z.array(backup).meta({ description: "Complete backups, newest first" }),
  })
  .meta({ id: "BackupList" });
export type BackupList = z.infer<typeof backupList>;

export const leftOut = z
  .object({
    table: z.string().meta({ example: "tokens" }),
    key: z.string().meta({ description: "Primary key, as JSON", example: `["${ID}"]` }),
    reason: z.string().meta({ example: "it refers to a missing row" }),
  })
  .meta({ id: "LeftOutRow", description: "A row that was not restored" });

export const setAgain = z
  .object({
    variables: z.array(
      z.object({ model: z.string().meta({ example: "ada/story" }), name: z.string() }),
    ),
    webhook_endpoints: z.array(
      z.object({ owner: z.string().meta({ example: "ada" }), url: z.string() }),
    ),
  })
  .meta({
    id: "SetAgain",
    description:
      "Values encrypted with a SECRET_KEY that this deployment does not have, up to 1,000 of each kind",
  });
export type SetAgain = z.infer<typeof setAgain>;

export const restoreState = z
  .object({
    id: uuid.meta({ description: "The backup", example: ID }),
    done: z
      .boolean()
      .meta({ description: "Whether the restore is complete. If not, repeat the call" }),
    parts: z.int().meta({ description: "Parts of the backup", example: 24 }),
    restored_parts: z.int().meta({ example: 24 }),
    rows: z.int().meta({ description: "Rows restored so far", example: 18_204 }),
    left_out: z.int().meta({ description: "Rows that were not restored", example: 0 }),
    examples: z.array(leftOut).meta({ description: "The first 100 rows that were not restored" }),
    accounts_left_out: z.array(z.string()).meta({
      description: "IDs of accounts whose predictions and usage are not in the backup",
    }),
    set_again: setAgain,
  })
  .meta({ id: "RestoreState" });
export type RestoreState = z.infer<typeof restoreState>;

export const oneBackup = z.object({ backup_id: uuid.meta({ example: ID }) });

export const onePart = oneBackup.extend({
  part_number: integerText(0, 1_000_000).meta({ description: "Part number; 0 is the manifest" }),
});

export const storedRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
export type StoredRow = z.infer<typeof storedRow>;

/** Rows of an account's object, as its tables have them. */
export const usageRow = z.strictObject({
  day: z.string(),
  model_id: z.string(),
  version_number: z.number(),
  token_id: z.string(),
  maker: z.string(),
  hardware: z.string(),
  deployment_id: z.string(),
  release: z.number(),
  model: z.string(),
  token: z.string(),
  member: z.string(),
  deployment: z.string(),
  ...storedSums,
});

export const countRow = z.strictObject({
  model_id: z.string(),
  closed: z.number(),
  published: z.number(),
});

export const predictionRow = z.strictObject({
  id: z.string(),
  object_id: z.string(),
  model_id: z.string(),
  model_owner: z.string(),
  model_name: z.string(),
  version_number: z.number(),
  deployment_id: z.string().nullable(),
  deployment: z.string().nullable(),
  release: z.number().nullable(),
  stream: z.number(),
  status: taskStatus,
  created_at: z.number(),
  updated_at: z.number(),
  setup_time: z.number().nullable(),
  execution_time: z.number().nullable(),
  cost: z.number().nullable(),
  cost_parts: z.string().nullable(),
  error: z.string().nullable(),
  metrics: z.string().nullable(),
  data_removed: z.number(),
  revision: z.number(),
  due_at: z.number().nullable(),
  kept_seconds: z.number().nullable(),
  token_id: z.string(),
  token_name: z.string(),
  client_id: z.string(),
  maker: z.string(),
  created_by: z.string().nullable(),
  hardware: z.string(),
  waits_again: z.number(),
});
export type StoredPrediction = z.infer<typeof predictionRow>;

export const budgetRow = z.strictObject({
  id: z.string(),
  subject: z.string(),
  unit: z.enum(["amount", "runs"]),
  most: z.number(),
  window: z.enum(BUDGET_WINDOWS),
  kind: z.enum(["hard", "alert"]),
  level: z.enum(BUDGET_LEVELS),
  alert_at: z.number(),
  created_at: z.number(),
  updated_at: z.number(),
  window_start: z.number(),
  spent: z.number(),
  alerted_by: z.string(),
  exhausted_by: z.string(),
});

/** The values that the object stores by name. */
export const accountFacts = z.strictObject({
  /** The id up to which history was deleted, and the id up to which it was deleted because it was full. */
  history_end: z.string().optional(),
  trimmed_to: z.string().optional(),
  /** The day from which on usage is not summed up. */
  open_from: z.string().optional(),
});

export const accountPage = z.strictObject({
  user_id: uuid,
  facts: accountFacts,
  usage: z.array(usageRow),
  counts: z.array(countRow),
  budgets: z.array(budgetRow),
  predictions: z.array(predictionRow),
});
export type AccountPage = z.infer<typeof accountPage>;

/** Rows of one table of the database, in the order of its key, or of several accounts. */
export const partContent = z.union([
  z.strictObject({ table: z.string(), rows: z.array(storedRow) }),
  z.strictObject({ accounts: z.array(accountPage) }),
]);
export type PartContent = z.infer<typeof partContent>;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const partEntry = z.strictObject({
  /** The name of the table, or `accounts`. */
  table: z.string(),
  rows: z.int(),
  /** The size and the hash of the part as it is stored. */
  bytes: z.int(),
  sha256,
});
export type PartEntry = z.infer<typeof partEntry>;

export const manifest = z.strictObject({
  format: z.literal(1),
  id: uuid,
  started_at: timestamp,
  finished_at: timestamp,
  /** The columns of every table: another version of Auspex may have others. */
  columns: z.record(z.string(), z.array(z.string())),
  parts: z.array(partEntry),
  /** Ids of accounts whose objects did not answer. */
  left_out: z.array(z.string()),
});
export type Manifest = z.infer<typeof manifest>;
