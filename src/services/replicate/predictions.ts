/** Predictions for clients of Replicate's API. */

import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { replicateHead } from "../../domain/replicate/prediction.ts";
import { notVisible } from "../../errors/errors.ts";
import {
  type PredictionStub,
  replicatePart,
  SNAPSHOT_CHARS,
} from "../../objects/stubs/prediction.ts";
import { readModelReference } from "../../protocol/common.ts";
import type { PredictionQuery } from "../../protocol/prediction.ts";
import type { ReplicatePrediction } from "../../protocol/replicate.ts";
import { cached } from "../../storage/cache.ts";
import { signStreamUrl, webhookSecrets } from "../../storage/files/signed-file-urls.ts";
import { findVersionByHash } from "../../storage/models/versions.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import type { Page, PageRequest } from "../pagination.ts";
import { type PredictionText, predictionText } from "../predictions/prediction-text.ts";
import { findOwnPrediction, ownPredictions, predictionStub } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

/** Versions by `user id/hash`: a model's name and who sees it may change. */
const versions = cached({ max: 5_000 }, ({ db }: Services, key: string) => {
  const [userId = "", hash = ""] = key.split("/");
  return findVersionByHash(db, hash, userId || undefined);
});

/**
 * Returns `owner/name` or `owner/name:number` for what Replicate's clients name as a version.
 * @throws ProblemError not_found for an ID of no version that the caller sees
 */
export async function readVersionReference(
  services: Services,
  caller: Caller | undefined,
  reference: string,
): Promise<string> {
  if (readModelReference(reference)) return reference;
  const [path, hash = reference] = reference.includes(":") ? reference.split(":") : [];
  const found = await versions.get(services, `${caller?.user_id ?? ""}/${hash}`);
  const model = found && `${found.owner}/${found.name}`;
  if (!found || (path !== undefined && path !== model))
    throw notVisible(`The version '${reference}'`);
  return `${model}:${found.number}`;
}

/** @throws ProblemError not_found, too_many_requests */
export const getReplicatePrediction = async (
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<PredictionText["text"]> =>
  replicateText(services, caller, await predictionStub(services, caller, id), { id, origin });

/**
 * @param waited whether the caller has waited for the end
 * @throws ProblemError not_found, too_many_requests
 */
export async function replicateText(
  services: Services,
  caller: Caller,
  stub: PredictionStub,
  { id, origin, waited }: { id: string; origin: string; waited?: boolean },
): Promise<PredictionText["text"]> {
  const view = { stream_url: await streamUrl(services, caller, id, origin), waited };
  const snapshot = await stub.get(SNAPSHOT_CHARS, 0, view);
  const text =
    snapshot && (await predictionText(services, stub, snapshot, replicatePart(view)))?.text;
  if (text) return text;
  // All of it was removed: the account still has its row.
  const row = await findOwnPrediction(services, caller, id);
  return JSON.stringify(presentRow(services, { ...row, data_removed: true }, origin));
}

/** Lists the caller's predictions, without their inputs, outputs and logs. */
export async function listReplicatePredictions(
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
): Promise<Page<ReplicatePrediction>> {
  const { origin } = new URL(request.url);
  const page = await ownPredictions(services, caller, query, request, (row) => row);
  const items = await Promise.all(
    page.items.map(async (row) => {
      const stream_url = await streamUrl(services, caller, row.id, origin);
      return presentRow(services, row, origin, stream_url);
    }),
  );
  return { ...page, items };
}

const streamUrl = ({ settings, db }: Services, { token_id }: Caller, id: string, origin: string) =>
  signStreamUrl(settings, db, origin, { id, token_id });

const presentRow = (
  { present }: Services,
  row: PredictionRow,
  origin: string,
  stream_url?: string,
): ReplicatePrediction => ({
  ...replicateHead(present.prediction(row, origin), {
    origin,
    model_id: row.model_id,
    token_id: row.token_id,
    data_removed: row.data_removed,
    started_at: row.waits_again ? null : undefined,
    stream_url,
  }),
  input: null,
  output: null,
  logs: null,
});

/** Returns the secret that signs the account's webhooks. @throws ProblemError forbidden */
export async function readWebhookSecret(services: Services, caller: Caller): Promise<string> {
  await requireAccountAccess(services, caller, "The secret of webhooks", "developer");
  const [newest] = await webhookSecrets(services.settings, services.db, caller.user_id);
  return newest;
}
