/** The only way to account objects. */

import type { UsageCount, UsagePlace } from "../../domain/accounts/usage.ts";
import type { AccountPosition } from "../../domain/backups/progress.ts";
import type { Key } from "../../domain/cursor.ts";
import type { Refused } from "../../domain/money/budget.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import type { DeliveryRow } from "../../domain/webhooks/delivery-row.ts";
import type { Bindings } from "../../env.ts";
import type { AccountPage } from "../../protocol/backup.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import { bounded } from "./bounded.ts";
import { inJurisdiction } from "./jurisdiction.ts";

export type AccountStub = ReturnType<typeof accountAt>;

/**
 * Makes the id of a new account object. The object stays where it is made: near its first caller, in the
 * jurisdiction that is set then.
 */
export const newAccountObjectId = (env: Bindings) =>
  inJurisdiction(env, env.ACCOUNT).newUniqueId().toString();

/** @param ms how long the object may take to answer */
export const accountAt = (env: Bindings, objectId: string, ms?: number) =>
  bounded(() => env.ACCOUNT.get(env.ACCOUNT.idFromString(objectId)), {
    ms,
    // All methods of the object are repeatable: rows are written by their revisions or times, a key by its
    // claimant, and a file by its key. A charge that is made twice only lasts until the bucket has filled
    // again, and an upload that is declared twice until the object reads D1.
    repeatable: [
      "put",
      "admit",
      "wouldAdmit",
      "extend",
      "budgets",
      "setBudget",
      "removeBudgets",
      "keyHolder",
      "discard",
      "recordDeliveries",
      "find",
      "list",
      "listDeliveries",
      "unfinished",
      "unfinishedStarts",
      "runsOf",
      "succeededRuns",
      "usage",
      "usageBy",
      "usageOfReleases",
      "usagePage",
      "chargeWrites",
      "settleWrites",
      "addFile",
      "removeFile",
      "declareUpload",
      "fileBytes",
      "copy",
      "restore",
      "addConversation",
      "removeConversation",
      "close",
      "isEmpty",
    ],
  });

export interface ModelName {
  owner: string;
  name: string;
}

/** An existing model, under any of its names, or a name that no model has now. */
export type MeantModel = { id: string } | ModelName;

export interface PredictionFilter {
  /** Empty: any status. */
  statuses: TaskStatus[];
  model: MeantModel | undefined;
  /** Limits the list to these models. Null: any model. */
  models: string[] | null;
  /** Limits the list to what this maker has made. Undefined: any maker. */
  maker?: string | undefined;
  /**
   * `from` is the first id of the list, and `before` the first id after it: the beginning of an id, or of the
   * ids of a time.
   */
  from?: string;
  before?: string;
  ending?: string;
  /** The name of the access token. */
  token?: string;
  /** The name of the maker at the create. */
  created_by?: string;
  /** The shortest execution time, in seconds. */
  min_execution_time?: number;
}

export type ModelRun = Pick<PredictionRow, "version_number" | "status" | "execution_time">;
/** A page of predictions. If `reached` is set, rows were checked up to this one only; others may match. */
export interface ListedPredictions {
  rows: PredictionRow[];
  reached?: Key;
}

/** The prediction that has a key; `conflict` if it was created by another request. */
export type KeyHolder = Pick<PredictionRow, "id" | "object_id"> | "conflict";

/**
 * Whether a prediction may begin, and what is reserved for it; null: nothing limits it. `unavailable`: the
 * account takes no row.
 */
export type Admission =
  | { reserved: number | null }
  | { taken: KeyHolder }
  | { refused: Refused }
  | "unavailable";

export interface UsageRow extends UsageCount, UsagePlace {
  day: string;
}

/** A delivery with the model of its prediction, if that is still listed. */
export interface ListedDelivery {
  delivery: DeliveryRow;
  owner: string | null;
  name: string | null;
  /** Null when the prediction is not listed any more. */
  data_removed: boolean | null;
}

export interface Usage {
  /** Most used first, each with its latest name. */
  models: { model_id: string; model: string }[];
  /** Usage by day and model; all models that are not named have the id ''. */
  rows: (UsageCount & { day: string; model_id: string })[];
  /** When the last prediction was created that was deleted early, unix ms. The history was full. */
  trimmed_to: number | null;
}

/** A part of an account's rows, for a backup. */
export interface AccountCopy {
  page: AccountPage;
  /** The position of the next part; null: nothing is left. */
  next: AccountPosition | null;
}
