/** What creating a prediction takes, and what it gives. */
import type { JsonSource } from "../../lib/json-text.ts";
import { SNAPSHOT_CHARS, type Snapshot } from "../../objects/prediction/rpc-types.ts";
import type { PredictionStub, StreamOptions } from "../../objects/prediction/stub.ts";
import type { SentFiles } from "./sent-files.ts";

export interface CreateOptions {
  /** Scheme and host that the request came to. */
  origin: string;
  /** Its id, if it must be known before. Files that were sent have one already (`sent`). */
  id?: string | undefined;
  validateInput: boolean;
  /** How long to wait for it to end. */
  waitSeconds: number;
  /** When it is canceled unless it has ended; null for never. */
  cancelAfterSeconds: number | null;
  idempotencyKey?: string | undefined;
  /**
   * Opens its event stream together with it. Ignored with an Idempotency-Key, whose prediction may
   * have begun long ago.
   */
  follow?: Follow;
  /** Files that came with the request: its input has their addresses. */
  sent?: SentFiles | undefined;
  /** What the input was made from, as it was sent: the input's text keeps its numbers and the order of its names. */
  source?: JsonSource | undefined;
  /** Called once the input is sent: from there on it only waits. */
  onInputSent?: (() => void) | undefined;
}

export type Follow = Omit<StreamOptions, "after">;

export interface CreatedPrediction extends Pick<Snapshot, "id" | "created_at"> {
  stub: PredictionStub;
  /** Undefined when it is followed: its events say it all. */
  snapshot?: Snapshot;
  /** All its events, when it is followed; undefined if they must be requested separately. */
  events?: ReadableStream<Uint8Array> | null | undefined;
  follow?: Follow | undefined;
}

/** The prediction in full. @throws Error when it has been deleted meanwhile */
export async function snapshotOf(created: CreatedPrediction): Promise<Snapshot> {
  const found = created.snapshot ?? (await created.stub.get(SNAPSHOT_CHARS));
  if (!found) throw gone(created);
  return found;
}

export const gone = ({ id }: CreatedPrediction) => new Error(`the prediction ${id} is gone`);
