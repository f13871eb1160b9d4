/** Estimates of predictions that are not created. */
import { onlyMaker } from "../../domain/accounts/access.ts";
import {
  figuresOf,
  noCostText,
  type PastRun,
  type Range,
} from "../../domain/predictions/estimate.ts";
import { secondsText } from "../../domain/predictions/state.ts";
import { validateInput } from "../../domain/schemas/json-schema.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import type { Estimate } from "../../protocol/estimate.ts";
import { amountText } from "../../protocol/money.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import { checkRetention, requirePriority } from "../predictions/create-prediction.ts";
import { findRefusal } from "../predictions/reservation.ts";
import { resolveVersion } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { readEstimate } from "./run-estimate.ts";

/**
 * Estimates the prediction that a create with the same body would make.
 * @throws ProblemError not_found, forbidden; ValidationFailure
 */
export async function estimatePrediction(
  services: Services,
  caller: Caller,
  { model: reference, ...request }: CreatePredictionOfVersion & { model: string },
  validates: boolean,
): Promise<Estimate> {
  checkRetention(services, request);
  const { model, version } = await resolveVersion(services, caller, reference);
  if (validates) validateInput(versionSchema(version.schemas, "input"), request.input);
  requirePriority(caller, request);
  const { id, owner_id, owner, name, hardware_identifier: identifier } = model;
  const [runs, { runEstimate, priced }] = await Promise.all([
    ownRuns(services, caller, version),
    readEstimate(services, caller, {
      model: {
        ...{ id, owner: { id: owner_id }, runsOn: null, pool_made_at: null },
        hardware: identifier === null ? null : { identifier },
      },
      version,
      seesWait: false,
    }),
  ]);
  const refusal = await findRefusal(services, caller, request, version, priced);
  const { basis, time, cost } = figuresOf(runs, runEstimate, priced);
  return {
    model: { owner, name, version_number: version.number },
    state: runEstimate.state,
    basis,
    runs: runs.length,
    execution_time: time ? textsOf(time, (seconds) => seconds.toFixed(3)) : null,
    setup_time: secondsText(runEstimate.setup_seconds),
    cost: cost ? { ...textsOf(cost, amountText), currency: services.settings.currency } : null,
    cost_reason: cost ? null : noCostText(runs.length, priced),
    would_admit: refusal === undefined,
    reason: refusal?.message ?? null,
  };
}

/** The own runs that an estimate is of. */
const OWN_RUNS = 50;

/**
 * Returns the last runs of a version that have succeeded, of those that the caller may read. A client token gets
 * none: its own are too few for a range, and it may not know what others have cost.
 */
export async function ownRuns(
  services: Services,
  caller: Caller,
  { model_id, number }: Pick<VersionRow, "model_id" | "number">,
): Promise<PastRun[]> {
  if (caller.client_id !== undefined) return [];
  const account = await findAccount(services, caller.user_id);
  const version = { model_id, version_number: number, maker: onlyMaker(caller) };
  return (await account?.succeededRuns(version, OWN_RUNS)) ?? [];
}

const textsOf = ({ expected, low, high }: Range, text: (value: number) => string) => ({
  expected: text(expected),
  low: low === null ? null : text(low),
  high: high === null ? null : text(high),
});
