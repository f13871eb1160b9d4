/** Predictions that are there: read, list, cancel, stream. */

import { accessToPrediction } from "../../domain/accounts/access.ts";
import { sha256 } from "../../domain/accounts/token.ts";
import { mergeSorted } from "../../domain/merge-sorted.ts";
import { conflict, notVisible } from "../../errors.ts";
import type { Snapshot } from "../../objects/prediction/rpc-types.ts";
import {
  type PredictionStub,
  predictionWithId,
  type StreamOptions,
} from "../../objects/prediction/stub.ts";
import type { Prediction, PredictionQuery, PredictionWithIO } from "../../protocol/prediction.ts";
import { projectionMessage } from "../../protocol/queue.ts";
import { immutable } from "../../storage/cache.ts";
import { ascends } from "../../storage/keyset.ts";
import { findModelId } from "../../storage/models/models.ts";
import {
  findPrediction,
  listPredictions,
  type MeantModel,
  type PredictionRow,
  projectPredictions,
} from "../../storage/predictions/predictions.ts";
import { requireAccess } from "../accounts/access.ts";
import type { Caller } from "../accounts/caller.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { readLog } from "./event-log.ts";
import type { EventStream } from "./event-stream.ts";
import { textOf } from "./prediction-text.ts";

/** Where predictions live, and whose they are, by `user:id`. They never move. */
const objectIds = immutable<ObjectLocation>(50_000);

type ObjectLocation = Pick<PredictionRow, "object_id" | "model_id">;

/** A prediction in full, as JSON text, and a mark that changes with it. */
export interface PredictionText {
  text: string | ReadableStream;
  /** Only of one that is streamed: the text itself tells otherwise. */
  etag?: string;
}

/** @throws ProblemError not_found */
export async function getPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<PredictionText> {
  const snapshot = await (await predictionStub(services, caller, id)).get();
  if (snapshot) return predictionText(services, snapshot);
  const row = await findRun(services, caller, id);
  const removed: PredictionWithIO = {
    ...services.present.prediction(row, origin),
    input: null,
    output: null,
    data_removed: true,
  };
  return { text: JSON.stringify(removed) };
}

export async function predictionText(
  services: Services,
  { id, body }: Snapshot,
): Promise<PredictionText> {
  const text = textOf(services, id, body);
  return typeof text === "string" ? { text } : { text, etag: await sha256(JSON.stringify(body)) };
}

export const listOwnPredictions = (
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
): Promise<Page<Prediction>> =>
  ownPredictions(services, caller, query, request, (row) =>
    services.present.prediction(row, new URL(request.url).origin),
  );

/** @throws ValidationFailure for a cursor that is not one of this list */
export async function ownPredictions<Item>(
  services: Services,
  caller: Caller,
  { statuses, model }: PredictionQuery,
  request: PageRequest,
  present: (row: PredictionRow) => Item,
): Promise<Page<Item>> {
  const { db } = services;
  const wanted = [...new Set(statuses)].sort();
  const filter = {
    statuses: wanted,
    model: model === undefined ? undefined : await meant(services, caller, model),
    models: caller.models,
  };
  const keyOf = ({ id }: PredictionRow) => [id];
  return paginate(services, request, {
    name: `predictions/${caller.user_id}/${model ?? ""}?${wanted.join("&")}`,
    find: async (keyset) =>
      mergeSorted(
        await listPredictions(db, caller.user_id, filter, keyset),
        { keyOf, ascending: ascends("desc", keyset) },
        keyset.limit,
      ),
    keyOf,
    present,
  });
}

/** The model that has a name now; of a name that none has any more, those that ran by it. */
async function meant({ db }: Services, { user_id }: Caller, path: string): Promise<MeantModel> {
  const [owner = "", name = ""] = path.split("/");
  const found = await findModelId(db, owner, name, user_id);
  return found ? { id: found.id } : { owner, name };
}

/**
 * Removes input, output, events and files of one that has ended; the row stays.
 * @throws ProblemError not_found, conflict while it is under way
 */
export async function removePrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const result = await (await predictionStub(services, caller, id)).remove();
  if (result === "under way") throw conflict("The prediction has not ended: cancel it first.");
  // What has been removed before stays removed.
  if (result === "unknown") return;
  await projectPredictions(services.db, [projectionMessage.parse(result.removed)]);
}

/** @throws ProblemError not_found, conflict when it has ended */
export async function cancelPrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const result = await (await predictionStub(services, caller, id)).cancel("canceled by its owner");
  if (result !== "accepted") {
    throw conflict("The prediction has ended already: there is nothing to cancel.");
  }
}

/**
 * @returns undefined when nothing more will come
 * @throws ProblemError not_found, also when retention has removed the log; too_many_requests
 */
export async function streamPrediction(
  services: Services,
  caller: Caller,
  id: string,
  options: StreamOptions,
): Promise<EventStream | undefined> {
  return readLog(services, await predictionStub(services, caller, id), id, options);
}

/** The row of one that the caller may touch. @throws ProblemError not_found, forbidden */
export async function findRun(
  services: Services,
  caller: Caller,
  id: string,
): Promise<PredictionRow> {
  const row = await findPrediction(services.db, caller.user_id, id);
  if (!row) throw notVisible(`The prediction '${id}'`);
  notePlace(row);
  await requireRun(services, caller, row);
  return row;
}

/** Where one lives that the caller may touch. @throws ProblemError not_found, forbidden */
export async function predictionStub(
  services: Services,
  caller: Caller,
  id: string,
): Promise<PredictionStub> {
  const known = objectIds.get(`${caller.user_id}:${id}`);
  if (known) await requireRun(services, caller, { ...known, user_id: caller.user_id, id });
  const { object_id } = known ?? (await findRun(services, caller, id));
  const stub = predictionWithId(services.env, object_id);
  if (!stub) throw new Error(`row ${id} names no object of this deployment`);
  return stub;
}

export function notePlace({
  user_id,
  id,
  object_id,
  model_id,
}: Pick<PredictionRow, "user_id" | "id"> & ObjectLocation): void {
  objectIds.set(`${user_id}:${id}`, { object_id, model_id });
}

const requireRun = (
  services: Services,
  caller: Caller,
  run: Pick<PredictionRow, "user_id" | "id" | "model_id">,
): Promise<void> =>
  requireAccess(services, caller, accessToPrediction(caller, run), `The prediction '${run.id}'`);
