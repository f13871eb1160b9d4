/** Reads, lists, cancels and streams existing predictions. */

import { accessToPrediction, onlyMaker } from "../../domain/accounts/access.ts";
import { RequestCounter } from "../../domain/accounts/rate-limit.ts";
import { type IdRange, idRange, readIdPart } from "../../domain/predictions/prediction-id.ts";
import type { PredictionRow, PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import { conflict, notVisible } from "../../errors/errors.ts";
import { firstIdAt } from "../../lib/hex.ts";
import { backoffMs } from "../../lib/retry.ts";
import { sleep } from "../../lib/timeout.ts";
import type { MeantModel, PredictionFilter } from "../../objects/stubs/account.ts";
import {
  type PredictionStub,
  predictionWithId,
  SNAPSHOT_CHARS,
  type StreamOptions,
} from "../../objects/stubs/prediction.ts";
import { readModelReference } from "../../protocol/common.ts";
import type { Prediction, PredictionQuery, PredictionWithIO } from "../../protocol/prediction.ts";
import { findUserByName } from "../../storage/accounts/users.ts";
import { immutable } from "../../storage/cache.ts";
import { findModelId } from "../../storage/models/models.ts";
import { type Caller, requireAccess } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { openLog } from "./event-log.ts";
import { type PredictionText, predictionText } from "./prediction-text.ts";

/**
 * The age up to which an id counts as young. After this time, the object of a short run that failed to write
 * its row tries again.
 */
const YOUNG_MS = 10_000;

/** The most by which the clock of another machine may be ahead. */
const AHEAD_MS = 2_000;

/** Further look-ups of a young id, which wait 0.7 s in all at most. */
const RETRIES = 3;

const BACKOFF = { baseMs: 100, maxMs: 400 };

/** Further look-ups per account, since anybody can make up young ids: 60 a second more. */
const LIMIT = { limit: 200, seconds: 10 };

const counter = new RequestCounter();

/** The objects, models and makers of predictions, by `user:id`. They never change. */
const objectIds = immutable<ObjectLocation>(50_000);

type ObjectLocation = Pick<PredictionRow, "object_id" | "model_id" | "maker" | "client_id">;

/** @throws ProblemError not_found */
export async function getPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<PredictionText> {
  const stub = await predictionStub(services, caller, id);
  const snapshot = await stub.get(SNAPSHOT_CHARS);
  const text = snapshot && (await predictionText(services, stub, snapshot));
  if (text) return text;
  const row = await findOwnPrediction(services, caller, id);
  return { text: JSON.stringify(withoutData(services, row, origin)) };
}

export const withoutData = (
  { present }: Services,
  row: PredictionRow,
  origin: string,
): PredictionWithIO => ({
  ...present.prediction(row, origin),
  input: null,
  output: null,
  data_removed: true,
});

export const listOwnPredictions = (
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
): Promise<Page<Prediction>> =>
  ownPredictions(services, caller, query, request, (row) =>
    services.present.prediction(row, new URL(request.url).origin),
  );

/** @throws ValidationFailure for an invalid cursor */
export async function ownPredictions<Item>(
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
  present: (row: PredictionRow) => Item,
): Promise<Page<Item>> {
  const account = await findAccount(services, caller.user_id);
  const { model, token, created_by, min_execution_time: least } = query;
  const statuses = [...new Set(query.statuses)].sort();
  const ids = idsOf(query);
  const filter = {
    statuses,
    model: model === undefined ? undefined : await modelFilter(services, caller, model),
    models: caller.models,
    ...(await makerFilter(services, caller, created_by)),
    ...ids,
    ...(token !== undefined && { token }),
    ...(least !== undefined && { min_execution_time: Number(least) }),
  };
  const { maker } = filter;
  const rest = { ...ids, token, least, maker, created_by };
  const others = Object.values(rest).some((value) => value !== undefined)
    ? JSON.stringify(rest)
    : "";
  const keyOf = ({ id }: PredictionRow) => [id];
  return paginate(services, request, {
    name: `predictions/${caller.user_id}/${model ?? ""}?${statuses.join("&")}${others}`,
    find: async (keyset) => (await account?.list(filter, keyset)) ?? [],
    keyOf,
    present,
  });
}

function idsOf({
  id,
  created_after,
  created_before,
}: PredictionQuery): IdRange & { ending?: string } {
  const [after, before] = [created_after, created_before].map((time) => time && Date.parse(time));
  const { beginning, ending } = id === undefined ? {} : readIdPart(id, Date.now());
  return {
    ...idRange(beginning, after || undefined, before || undefined),
    ...(ending !== undefined && { ending }),
  };
}

/**
 * Filters by the member who has this username now, whose predictions are a range of an index, or else by the
 * name that the maker had.
 */
async function makerFilter(
  { db }: Services,
  caller: Caller,
  created_by: string | undefined,
): Promise<Pick<PredictionFilter, "maker" | "created_by">> {
  const maker = onlyMaker(caller);
  if (created_by === undefined) return { maker };
  // A token for some models reads no rows of others, which the range has.
  const isWhole = maker === undefined && caller.models === null;
  const member = isWhole ? await findUserByName(db, created_by) : undefined;
  return member ? { maker: member.id } : { maker, created_by };
}

/** Filters by the model that has this name now; if none has, by the models that had it. */
async function modelFilter(
  { db }: Services,
  { user_id }: Caller,
  path: string,
): Promise<MeantModel> {
  const { owner = "", name = "" } = readModelReference(path) ?? {};
  const found = await findModelId(db, owner, name, user_id);
  return found ? { id: found.id } : { owner, name };
}

/**
 * Deletes input, output, events and files of a prediction that has ended; the row stays.
 * @throws ProblemError not_found, conflict while it is under way
 */
export async function removePrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const result = await (await predictionStub(services, caller, id)).remove();
  if (result === "under way") throw conflict("The prediction has not ended. Cancel it first.");
}

/** @throws ProblemError not_found, conflict when it has ended */
export async function cancelPrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<void> {
  const result = await (await predictionStub(services, caller, id)).cancel("canceled by its owner");
  if (result !== "accepted") {
    throw conflict("The prediction has already ended.");
  }
}

/**
 * @returns null when no further event will come
 * @throws ProblemError not_found, also when the log has been deleted; too_many_requests
 */
export async function streamPrediction(
  services: Services,
  caller: Caller,
  id: string,
  options: StreamOptions,
): Promise<ReadableStream<Uint8Array> | null> {
  const stub = await predictionStub(services, caller, id);
  return (await openLog(services, stub, id, options)).body;
}

/** The row of a prediction that the caller may access. @throws ProblemError not_found, forbidden */
export async function findOwnPrediction(
  services: Services,
  caller: Caller,
  id: string,
): Promise<PredictionRow> {
  const row = await findRow(services, caller.user_id, id);
  if (!row) throw notVisible(`The prediction '${id}'`);
  const own = { ...row, user_id: caller.user_id };
  rememberLocation(own);
  await requirePrediction(services, caller, own);
  return row;
}

/** The object of a prediction that the caller may access. @throws ProblemError not_found, forbidden */
export async function predictionStub(
  services: Services,
  caller: Caller,
  id: string,
): Promise<PredictionStub> {
  const known = objectIds.get(`${caller.user_id}:${id}`);
  if (known) await requirePrediction(services, caller, { ...known, user_id: caller.user_id, id });
  const { object_id } = known ?? (await findOwnPrediction(services, caller, id));
  const stub = predictionWithId(services.env, object_id);
  if (!stub) throw new Error(`row ${id} names no object of this deployment`);
  return stub;
}

export function rememberLocation({
  user_id,
  id,
  object_id,
  model_id,
  maker,
  client_id,
}: Pick<PredictionUpdate, "user_id" | "id"> & ObjectLocation): void {
  objectIds.set(`${user_id}:${id}`, { object_id, model_id, maker, client_id });
}

async function requirePrediction(
  services: Services,
  caller: Caller,
  { id, ...run }: Pick<PredictionUpdate, "user_id" | "id" | "maker" | "client_id" | "model_id">,
): Promise<void> {
  await requireAccess(services, caller, accessToPrediction(caller, run), `The prediction '${id}'`);
  caller.reads = run;
}

/**
 * Finds the row of a prediction. The row of a short run may be written shortly after its answer, so a young
 * id without a row is looked up again before it counts as unknown.
 * @returns undefined when there is none
 */
export async function findRow(
  services: Services,
  userId: string,
  id: string,
): Promise<PredictionRow | undefined> {
  const find = async () => (await findAccount(services, userId))?.find(id);
  let row = await find();
  if (row || !mayCome(userId, id)) return row;
  for (let tries = 1; !row && tries <= RETRIES; tries++) {
    await sleep(backoffMs(tries, BACKOFF));
    row = await find();
  }
  return row;
}

function mayCome(userId: string, id: string): boolean {
  const now = Date.now();
  const isYoung = id >= firstIdAt(now - YOUNG_MS) && id < firstIdAt(now + AHEAD_MS);
  return isYoung && counter.count(userId, LIMIT, now).remaining > 0;
}
