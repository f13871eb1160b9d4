/** What a backup consists of: parts, and the manifest that names them. It outlives the deployment that made it. */
import { z } from "zod";
import { timestamp, uuid } from "./common.ts";
import { taskStatus } from "./prediction.ts";

/** A row of a table, by its columns. */
export const storedRow = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
export type StoredRow = z.infer<typeof storedRow>;

/** Rows of an account's object, as its tables have them. */
export const usageRow = z.strictObject({
  day: z.string(),
  model_id: z.string(),
  token_id: z.string(),
  model: z.string(),
  predictions: z.number(),
  failed: z.number(),
  execution_seconds: z.number(),
  price: z.number(),
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
  stream: z.number(),
  status: taskStatus,
  created_at: z.number(),
  updated_at: z.number(),
  setup_time: z.number().nullable(),
  execution_time: z.number().nullable(),
  error: z.string().nullable(),
  metrics: z.string().nullable(),
  data_removed: z.number(),
  revision: z.number(),
  due_at: z.number().nullable(),
  kept_seconds: z.number().nullable(),
  token_id: z.string(),
  token_name: z.string(),
  waits_again: z.number(),
});
export type StoredPrediction = z.infer<typeof predictionRow>;

/** What the object remembers by name. */
export const accountFacts = z.strictObject({
  /** Up to which id its history was deleted, and up to which because it was full. */
  history_end: z.string().optional(),
  trimmed_to: z.string().optional(),
  /** From which day on usage is not summed up. */
  open_from: z.string().optional(),
});

export const accountPage = z.strictObject({
  user_id: uuid,
  facts: accountFacts,
  usage: z.array(usageRow),
  counts: z.array(countRow),
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
  /** Its table, or `accounts`. */
  table: z.string(),
  rows: z.int(),
  /** Of the part as it is stored, and its hash. */
  bytes: z.int(),
  sha256,
});
export type PartEntry = z.infer<typeof partEntry>;

export const manifest = z.strictObject({
  format: z.literal(1),
  id: uuid,
  started_at: timestamp,
  finished_at: timestamp,
  /** Of every table: another version of Auspex may have others. */
  columns: z.record(z.string(), z.array(z.string())),
  parts: z.array(partEntry),
  /** Ids of accounts whose objects did not answer. */
  left_out: z.array(z.string()),
});
export type Manifest = z.infer<typeof manifest>;
