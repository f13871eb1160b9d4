/** The only way to prediction objects. */

import type { Refused } from "../../domain/money/budget.ts";
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { LogLine, TailState } from "../../domain/predictions/log-tail.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import type { RunFacts } from "../../domain/predictions/timeline.ts";
import type { ReplicateFacts } from "../../domain/replicate/prediction.ts";
import type { OutboxEvent } from "../../domain/webhooks/outbox.ts";
import type { Bindings } from "../../env.ts";
import type { JsonPieces } from "../../lib/json-splice.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import type { Credential } from "../../storage/accounts/reader-access.ts";
import { ANSWER_MS, bounded } from "./bounded.ts";
import { type ContentPiece, contentPieces, type Piece } from "./content.ts";
import { inJurisdiction } from "./jurisdiction.ts";

/**
 * `conflict`: the key was used with another request. `full`: too many predictions of the account wait.
 * `unavailable`: the row cannot be written. Otherwise a budget or a limit of the token refuses the prediction.
 */
export type Refusal = "conflict" | "full" | "unavailable" | Refused;

/**
 * The most characters of a prediction that a call returns at once. A message can have 32 MiB, and both sides
 * hold it as a whole: larger predictions are read piece by piece.
 */
export const SNAPSHOT_CHARS = 128 * 1024;

export type PredictionStub = ReturnType<typeof predictionAt>;

/** Returns a new unique id: unlike a name, its first use needs no global look-up. */
export const newPredictionId = (env: Bindings) => inJurisdiction(env, env.PREDICTION).newUniqueId();

/** @param waitSeconds how long a call may wait for the prediction's end before it is answered */
export const predictionAt = (env: Bindings, id: DurableObjectId, waitSeconds = 0) =>
  bounded(() => env.PREDICTION.get(id), {
    ms: ANSWER_MS + waitSeconds * 1_000,
    repeatable: [
      "hasBegun",
      "confirm",
      "waitForEnd",
      "get",
      "getUpTo",
      "history",
      "runFacts",
      "lastRun",
      "originalRequest",
      "getRow",
      "listDeliveries",
      "webhookBody",
      "input",
      "mayReadFile",
      "continueWrite",
    ],
  });

/** Returns a new stub of the same object: a stub whose call has failed with the object stays broken. */
export const renewed = (env: Bindings, { id }: PredictionStub, waitSeconds?: number) =>
  predictionAt(env, id, waitSeconds);

/** @returns undefined if `objectId` is no id of a prediction object of this deployment */
export function predictionWithId(env: Bindings, objectId: string): PredictionStub | undefined {
  try {
    return predictionAt(env, env.PREDICTION.idFromString(objectId));
  } catch {
    return undefined;
  }
}

/** The reader of a stream that is passed on as it is: the object counts it, and ends it with its access. */
export interface StreamReader extends Credential {
  /** How many streams and waiting requests the account may have. */
  max_streams: number;
  /** The stream's last event when its access has ended. */
  last_words: string;
}

/** Why a stream is refused: the prediction has as many readers as it may have, or the account. */
export type TooManyReaders = "of the prediction" | "of the account";

export interface StreamLimits {
  reader?: StreamReader | undefined;
  /** The stream is closed after this long without an event. */
  idle_seconds?: number | undefined;
  /** The stream is closed after this long, so that its reader resumes with fresh credentials. */
  lifetime_seconds?: number | undefined;
}

export interface StreamOptions extends StreamLimits {
  /** The id of the last event that the reader has. */
  after: number;
  /** Cancels the prediction when the reader leaves before its end. */
  leave?: LeaveAction;
}

/**
 * Opens the event stream.
 * @returns 204 when no further event will come, 404 when the log has been deleted, 429 (its body is a
 * TooManyReaders)
 */
export function openStream(stub: PredictionStub, options: StreamOptions): Promise<Response> {
  return stub.fetch(`https://prediction/stream?${queryOf(options)}`);
}

/**
 * Creates a prediction and follows it from its first event on, in one call. The call is not RPC: an object
 * does not notice that the reader of a stream it returned by RPC has left.
 * @returns as openStream; 409 (its body is a Refusal, as JSON) when the prediction is not created
 */
export function createAndFollow(
  stub: PredictionStub,
  { spec, input }: CreateRequest,
  options: Omit<StreamOptions, "after">,
): Promise<Response> {
  return stub.fetch(`https://prediction/create?${queryOf({ after: 0, ...options })}`, {
    method: "POST",
    body: `${JSON.stringify(spec)}\n${input}`,
  });
}

/**
 * Returns the create request that `createAndFollow` has sent: JSON in one line has no line breaks, and the
 * input may be large.
 */
export async function createRequestIn(
  request: Request,
): Promise<Pick<CreateRequest, "spec" | "input">> {
  const text = await request.text();
  const end = text.indexOf("\n");
  return { spec: JSON.parse(text.slice(0, end)), input: text.slice(end + 1) };
}

/**
 * Returns the JSON of the prediction or of its output, piece by piece, with an ETag. Not RPC, for the same
 * reason.
 * @returns undefined when the record has been deleted; `full` when the account reads as many as it may
 */
export async function openContent(
  stub: PredictionStub,
  part: "content" | "output" | ReturnType<typeof replicatePart> = "content",
): Promise<{ pieces: AsyncIterable<ContentPiece>; etag: string } | "full" | undefined> {
  const { ok, status, body, headers } = await stub.fetch(`https://prediction/${part}`);
  if (status === 429) return "full";
  if (!ok || !body) return undefined;
  const etag = headers.get("etag");
  if (etag === null) throw new Error("the content of a prediction has no ETag");
  return { pieces: contentPieces(body), etag };
}

/** The facts that the shape of Replicate's API has, and the prediction does not know. */
export type ReplicateView = Pick<ReplicateFacts, "stream_url" | "waited">;

/** The part of a prediction that is all of it in that shape, for `openContent`. */
export const replicatePart = (view: ReplicateView) =>
  `replicate?view=${encodeURIComponent(JSON.stringify(view))}` as const;

export const replicateViewOf = ({ searchParams }: URL): ReplicateView =>
  JSON.parse(searchParams.get("view") ?? "{}");

export const LOG_TYPE = "text/plain; charset=utf-8";

/**
 * Returns the whole log as text.
 * @returns undefined when the data has been deleted; `full` when the account reads as many as it may
 */
export async function openLogFile(stub: PredictionStub): Promise<Response | "full" | undefined> {
  const response = await stub.fetch("https://prediction/log");
  if (response.status === 429) return "full";
  return response.ok ? response : undefined;
}

const queryOf = ({ after, idle_seconds, lifetime_seconds, leave, reader }: StreamOptions) =>
  new URLSearchParams({
    after: String(after),
    ...(idle_seconds !== undefined && { idle_seconds: String(idle_seconds) }),
    ...(lifetime_seconds !== undefined && { lifetime_seconds: String(lifetime_seconds) }),
    ...(leave && { leave }),
    ...(reader && { reader: JSON.stringify(reader) }),
  });

/** The options in a URL made by `openStream` or `createAndFollow`. */
export function streamOptionsOf({ searchParams }: URL): StreamOptions {
  const numberIn = (name: string) => {
    const text = searchParams.get(name);
    return text === null ? undefined : Number(text);
  };
  const reader = searchParams.get("reader");
  return {
    after: numberIn("after") ?? 0,
    idle_seconds: numberIn("idle_seconds"),
    lifetime_seconds: numberIn("lifetime_seconds"),
    leave: searchParams.get("leave") === "cancel" ? "cancel" : undefined,
    reader: reader === null ? undefined : JSON.parse(reader),
  };
}

/** Identifies the runner that connects, as JSON: leases and ids are ASCII. */
export const HOLDER_HEADER = "x-auspex-holder";

/** Connects a runner. Only its lease and the upgrade of its request are forwarded. */
export function openChannel(stub: PredictionStub, holder: LeaseHolder): Promise<Response> {
  return stub.fetch("https://prediction/channel", {
    headers: { upgrade: "websocket", [HOLDER_HEADER]: JSON.stringify(holder) },
  });
}

export interface CreateRequest {
  spec: PredictionSpec;
  /** JSON text; empty when it lies in R2 (`spec.stored_input`). */
  input: string;
  wait_seconds: number;
  snapshot_chars: number;
}

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

export interface LastRun {
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
  facts: RunFacts;
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
  | "its release was given up"
  | "its caller has disconnected"
  | "the wait its caller allowed is over"
  | "it could not be created"
  /** Sent to a runner that reconnects: the reason was sent before. */
  | "canceled";

export type CancelResult = "accepted" | "terminal" | "unknown";
