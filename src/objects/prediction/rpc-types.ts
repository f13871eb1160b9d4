/** Parameters and results of the RPC methods of a prediction object. Times are unix ms. */
import { z } from "zod";
import type { LogLine, TailState } from "../../domain/predictions/log-tail.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { Standing } from "../../domain/predictions/timeline.ts";
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { JsonPieces } from "../../lib/json-splice.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";

/** A JSON value: its text, or the name under which it lies in R2. */
export type Piece = string | StoredValue;

/** A piece with its text in UTF-8, which is not always a whole value. */
export type ContentPiece = Uint8Array | StoredValue;

export interface CreateRequest {
  spec: PredictionSpec;
  /** JSON text; empty when it lies in R2 (`spec.stored_input`). */
  input: string;
  /** How long to wait for the prediction to end. */
  wait_seconds: number;
  /** How many characters the snapshot may have. */
  snapshot_chars: number;
}

/**
 * `conflict`: the key was used with another request. `full`: too many predictions of the account wait.
 * `unavailable`: the row cannot be written.
 */
export const refusal = z.enum(["conflict", "full", "unavailable"]);
export type Refusal = z.infer<typeof refusal>;

/** `taken`: the object of the prediction that was created with its Idempotency-Key before. */
export type CreateResult = Snapshot | { refused: Refusal } | { taken: string };

/** A prediction in full. Its JSON text is not parsed: it is large, and only passed on. */
export interface Snapshot {
  id: string;
  call: OpenAiCall | null;
  created_at: number;
  terminal: boolean;
  status: TaskStatus;
  /** Whether anything of the prediction lies in R2. */
  stored: boolean;
  /**
   * Null when the texts have more characters than were asked for (`SNAPSHOT_CHARS`): openContent has them.
   */
  body: JsonPieces<StoredValue> | null;
}

/**
 * The most characters of a prediction that a call returns at once. A message can have 32 MiB, and both sides
 * hold it as a whole: larger predictions are read piece by piece.
 */
export const SNAPSHOT_CHARS = 128 * 1024;

/** The last runner of a prediction, and the number of its attempts. */
export interface LastRun {
  /** The last runner that is known. */
  runner_id: string | null;
  attempts: number;
}

/** The request that a prediction was created with, so that it can be run again. */
export interface OriginalRequest {
  call: OpenAiCall | null;
  stream: boolean;
  retention_seconds: number;
  input: Piece;
}

/** The content of the dashboard's page of a prediction: all that its log holds, within limits. */
export interface History {
  /** JSON text of the prediction without input and output, with `data_removed`. */
  head: string;
  model_id: string;
  /** Whether a cancel is recorded, and the prediction has not ended. */
  canceling: boolean;
  /** The id of the last event included: a stream continues after it. */
  last: number;
  standing: Standing;
  /** The last lines of the container and of the model. */
  logs: { lines: LogLine[]; state: TailState };
  /** JSON texts from the first on; if there are no values, what is stored in place of the first. */
  output: {
    values: string[];
    omitted: number;
    first: StoredValue | null;
  };
  /** JSON text; null when it is too large or deleted. */
  input: string | null;
}

/** The deliveries of one webhook event, without bodies and signatures. */
export interface EventDeliveries
  extends Pick<OutboxEvent, "sequence" | "event" | "at" | "deliveries"> {
  /** The URL of the prediction's own webhook. */
  own_url: string | null;
}

/** Facts about a prediction that its runner needs in order to write to R2. */
export interface WriteGrant {
  id: string;
  user_id: string;
  account_object: string;
  url: string;
  /** The size limit of all outputs together. */
  output_bytes: number;
  /** The longest that anything written now is kept. */
  keep_seconds: number;
}

/** The action on a prediction whose reader leaves before its end. */
export type LeaveAction = "cancel";

/** Why the prediction is canceled, in the words that its runner gets. */
export type CancelReason =
  | "canceled by its owner"
  | "its account is suspended"
  | "its account is deleted"
  | "its caller has disconnected"
  | "the wait its caller allowed is over"
  | "it could not be created"
  /** Sent to a runner that reconnects: the reason was sent before. */
  | "canceled";

export type CancelResult = "accepted" | "terminal" | "unknown";
