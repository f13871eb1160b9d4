/** What the doors of a prediction object take and answer. */
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { VendoraCall } from "../../protocol/runner.ts";
import type { Piece } from "./log.ts";
import type { Snapshot } from "./record.ts";

export interface CreateRequest {
  spec: PredictionSpec;
  /** JSON text; empty when it lies in R2 (`spec.stored_input`). */
  input: string;
  /** How long to wait for the end, ms. */
  wait: number;
}

/** What a runner stores belongs to. */
export interface StoringPrediction {
  id: string;
  user_id: string;
  url: string;
  /** What all its outputs may have. */
  output_bytes: number;
  /** So long what is stored now is there at most. */
  keep_seconds: number;
}

/** What a prediction was asked for, so that it can be again. */
export interface Asked {
  call: VendoraCall | null;
  stream: boolean;
  retention_seconds: number;
  /** JSON text, or where that lies. */
  input: Piece;
}

export type CreateResult = Snapshot | { refused: "conflict" | "full" };
/** What becomes of a prediction whose reader is gone before the end. */
export type Leave = "cancel";

/** Why it is to end, as its runner is told. */
export type CancelReason =
  | "canceled by its owner"
  | "its account is suspended"
  | "its account is removed"
  | "its caller has left"
  | "the wait that its creator allowed is over"
  | "it could not be created"
  /** To one that comes back: why, it was told before. */
  | "canceled";

export type CancelResult = "accepted" | "terminal" | "unknown";
