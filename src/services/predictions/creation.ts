/** The options and the result of creating a prediction. */
import type { JsonSource } from "../../lib/json-text.ts";
import { SNAPSHOT_CHARS, type Snapshot } from "../../objects/prediction/rpc-types.ts";
import type { PredictionStub, StreamOptions } from "../../objects/prediction/stub.ts";
import type { SentFiles } from "./sent-files.ts";

export interface CreateOptions {
  /** Scheme and host that the request came to. */
  origin: string;
  /** The prediction's id, if it must be known before. Files that were sent have one already (`sent`). */
  id?: string | undefined;
  validateInput: boolean;
  /** How long to wait for the prediction to end. */
  waitSeconds: number;
  /** When the prediction is canceled unless it has ended; null: never. */
  cancelAfterSeconds: number | null;
  idempotencyKey?: string | undefined;
  /**
   * Opens the event stream together with the prediction. Ignored with an Idempotency-Key, whose prediction
   * may have begun long ago.
   */
  follow?: Follow;
  /** Files that came with the request: its input has their addresses. */
  sent?: SentFiles | undefined;
  /**
   * The text that the input was made from, as it was sent: the stored input keeps its numbers and the order
   * of its names.
   */
  source?: JsonSource | undefined;
  /** Called once the input is sent: from then on the request only waits. */
  onInputSent?: (() => void) | undefined;
}

export type Follow = Omit<StreamOptions, "after">;

export interface CreatedPrediction extends Pick<Snapshot, "id" | "created_at"> {
  stub: PredictionStub;
  /** The prediction. Undefined when it is followed: its events contain everything. */
  snapshot?: Snapshot;
  /** All events of a prediction that is followed; undefined if they must be requested separately. */
  events?: ReadableStream<Uint8Array> | null | undefined;
  follow?: Follow | undefined;
}

/** Returns the prediction in full. @throws Error when it has been deleted meanwhile */
export async function snapshotOf(created: CreatedPrediction): Promise<Snapshot> {
  const found = created.snapshot ?? (await created.stub.get(SNAPSHOT_CHARS));
  if (!found) throw gone(created);
  return found;
}

export const gone = ({ id }: CreatedPrediction) => new Error(`the prediction ${id} is gone`);
