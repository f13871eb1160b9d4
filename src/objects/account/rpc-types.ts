/** Parameters and results of the methods of an account object. */
import type { UsageCount } from "../../domain/accounts/usage.ts";
import type { AccountPosition } from "../../domain/backups/progress.ts";
import type { Key } from "../../domain/cursor.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import type { DeliveryRow } from "../../domain/webhooks/delivery-row.ts";
import type { AccountPage } from "../../protocol/backup.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";

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
  /**
   * `from` is the first id of the list, and `before` the first id after it: the beginning of an id, or of the
   * ids of a time.
   */
  from?: string;
  before?: string;
  /** The end of the id. */
  ending?: string;
  /** The name of the access token. */
  token?: string;
  /** The shortest execution time, in seconds. */
  min_execution_time?: number;
}

/** A page of predictions. If `reached` is set, rows were checked up to this one only; others may match. */
export interface ListedPredictions {
  rows: PredictionRow[];
  reached?: Key;
}

/** The prediction that has a key; `conflict` if it was created by another request. */
export type KeyHolder = Pick<PredictionRow, "id" | "object_id"> | "conflict";

export interface UsageRow extends UsageCount {
  day: string;
  model_id: string;
  model: string;
  token_id: string;
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
  /** Most used first. The id of the dashboard is ''. */
  tokens: (UsageCount & { token_id: string })[];
  /** When the last prediction was created that was deleted early, unix ms. The history was full. */
  trimmed_to: number | null;
}

/** A part of an account's rows, for a backup. */
export interface AccountCopy {
  page: AccountPage;
  /** The position of the next part; null: nothing is left. */
  next: AccountPosition | null;
}
