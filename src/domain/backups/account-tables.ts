/** The tables of an account's object that are in a backup, in the order in which they are read. */
import { countRow, predictionRow, usageRow } from "../../protocol/backup.ts";

export const ACCOUNT_TABLES = {
  usage: { key: ["day", "model_id", "token_id"], columns: Object.keys(usageRow.shape) },
  counts: { key: ["model_id"], columns: Object.keys(countRow.shape) },
  predictions: { key: ["id"], columns: Object.keys(predictionRow.shape) },
};

export type AccountTable = keyof typeof ACCOUNT_TABLES;

export const ACCOUNT_TABLE_NAMES = [
  "usage",
  "counts",
  "predictions",
] as const satisfies AccountTable[];

/** The tables that are not in a backup, with the reasons. */
export const NOT_IN_COPIES: Record<string, string> = {
  conversations:
    "which objects its conversations are: what was said in them is in no backup either",
  files: "what predictions have in R2, which is in no backup either",
  keys: "Idempotency-Keys, of one day",
  deliveries: "how webhooks fared lately: the objects of the predictions are new, and know of none",
  removals: "when data of short runs is removed, of which nothing is left after a restore",
};
