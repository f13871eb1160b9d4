/** The only way to prediction objects. */
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { Bindings } from "../../env.ts";
import type { Credential } from "../../storage/accounts/reader-access.ts";
import { ANSWER_MS, bounded } from "../bounded.ts";
import { inJurisdiction } from "../jurisdiction.ts";
import { contentPieces } from "./reads.ts";
import type { ContentPiece, CreateRequest, LeaveAction } from "./rpc-types.ts";

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
      "standing",
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
  user_id: string;
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
 * @returns as openStream; 409 (its body is a Refusal) when the prediction is not created
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
  part: "content" | "output" = "content",
): Promise<{ pieces: AsyncIterable<ContentPiece>; etag: string } | "full" | undefined> {
  const { ok, status, body, headers } = await stub.fetch(`https://prediction/${part}`);
  if (status === 429) return "full";
  if (!ok || !body) return undefined;
  const etag = headers.get("etag");
  if (etag === null) throw new Error("the content of a prediction has no ETag");
  return { pieces: contentPieces(body), etag };
}

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
