/** The only door to prediction objects. */
import type { LeaseHolder } from "../../domain/predictions/lease.ts";
import type { Bindings } from "../../env.ts";
import { type ProjectionMessage, projectionMessage } from "../../protocol/queue.ts";
import type { Leave } from "./rpc-types.ts";
import type { Limits } from "./subscribers.ts";

export type PredictionStub = ReturnType<typeof predictionAt>;

/** A new object, whose first use costs no look-up round the world. */
export const newPredictionId = (env: Bindings) => env.PREDICTION.newUniqueId();

/** The object that stands for an account's Idempotency-Key. */
export const keyedPredictionId = (env: Bindings, name: string) => env.PREDICTION.idFromName(name);

export const predictionAt = (env: Bindings, id: DurableObjectId) => env.PREDICTION.get(id);

/** The door to the same object, after a call has failed: a stub that has seen its object go stays broken. */
export const renewed = (env: Bindings, { id }: PredictionStub) => predictionAt(env, id);

/** undefined for what is not the id of a prediction object of this deployment. */
export function predictionWithId(env: Bindings, objectId: string): PredictionStub | undefined {
  try {
    return predictionAt(env, env.PREDICTION.idFromString(objectId));
  } catch {
    return undefined;
  }
}

/** The row of a prediction as it should be; undefined when there is no such object any more. */
export async function projectionAt(stub: PredictionStub): Promise<ProjectionMessage | undefined> {
  const row = await stub.project();
  return row && projectionMessage.parse(row);
}

export interface StreamOptions extends Limits {
  /** The id of the last event that the reader has. */
  after: number;
  /** Cancels the prediction when the reader is gone before the end. */
  leave?: Leave;
}

/**
 * The event stream.
 * @returns 204 when there is nothing more and never will be, 404 when the log is gone, 429 when it
 * has as many readers as it may.
 */
export function openStream(
  stub: PredictionStub,
  { after, idle, lasts, leave, reader }: StreamOptions,
): Promise<Response> {
  const query = new URLSearchParams({
    after: String(after),
    ...(idle !== undefined && { idle: String(idle) }),
    ...(lasts !== undefined && { lasts: String(lasts) }),
    ...(leave && { leave }),
    ...(reader !== undefined && { reader }),
  });
  return stub.fetch(`https://prediction/stream?${query}`);
}

/** What `openStream` asks for. */
export function streamOptionsOf({ searchParams }: URL): StreamOptions {
  const seconds = (name: string) => {
    const text = searchParams.get(name);
    return text === null ? undefined : Number(text);
  };
  return {
    after: seconds("after") ?? 0,
    idle: seconds("idle"),
    lasts: seconds("lasts"),
    leave: searchParams.get("leave") === "cancel" ? "cancel" : undefined,
    reader: searchParams.get("reader") ?? undefined,
  };
}

/** Says who connects, as JSON: leases and ids are ASCII. */
export const HOLDER_HEADER = "x-auspex-holder";

/** Connects a runner. Only who it is and the upgrade go through, nothing else of its request. */
export function openChannel(stub: PredictionStub, holder: LeaseHolder): Promise<Response> {
  return stub.fetch("https://prediction/channel", {
    headers: { upgrade: "websocket", [HOLDER_HEADER]: JSON.stringify(holder) },
  });
}
