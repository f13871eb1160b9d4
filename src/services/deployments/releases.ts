/** The settings of a release, from a request and the release before. */

import { interfaceOf } from "../../domain/models/remote.ts";
import { tokenSubject } from "../../domain/money/budget.ts";
import { invalid, type Loc, ValidationFailure } from "../../domain/schemas/validation.ts";
import { conflict, ProblemError } from "../../errors/errors.ts";
import {
  fitsProbe,
  MAX_INSTANCES,
  TOO_LARGE_PROBE,
  type UpdateDeployment,
} from "../../protocol/deployment.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import {
  isRefusedByGrant,
  type NewRelease,
  type ReleaseItemRow,
} from "../../storage/deployments/deployments.ts";
import { findGrant } from "../../storage/deployments/grants.ts";
import { findExample } from "../../storage/models/examples.ts";
import { getAccountFacts } from "../../storage/webhooks/account-facts.ts";
import type { Caller } from "../access/access.ts";
import { withinQuota } from "../access/storage-quota.ts";
import {
  isFallbackFor,
  type ResolvedVersion,
  resolveVersion,
} from "../predictions/version-resolution.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";

/** A release without its place. */
export type ReleaseSettings = Omit<
  NewRelease,
  "deployment_id" | "number" | "created_at" | "created_by" | "room"
>;

/** The settings of a release, with the version that they name. */
export interface Planned {
  settings: ReleaseSettings;
  target: ResolvedVersion;
}

/**
 * Returns what a release runs that changes some settings of the one before.
 * @param base undefined: there is none
 * @throws ProblemError not_found if the caller may not run the model; ValidationFailure
 */
export async function releaseSettings(
  services: Services,
  caller: Caller,
  { model: named, version: number, hardware: asked, probe, ...changes }: UpdateDeployment,
  base: ReleaseItemRow | undefined,
): Promise<Planned> {
  const path = named ?? base?.model;
  if (path == null)
    throw invalid(["body", "model"], "The deployment's model was deleted. Name another model");
  const kept = named === undefined ? base?.version_number : undefined;
  const wanted = number ?? kept;
  const reference = wanted === undefined ? path : `${path}:${wanted}`;
  const target = await resolveVersion(services, caller, reference);
  const { model, version, deployment } = target;
  if (deployment)
    throw invalid(
      ["body", "model"],
      `'${path}' is a deployment. Name the model that it runs, ${model.owner}/${model.name}`,
    );
  const { configuration } = version;
  if (configuration.remote)
    throw invalid(
      ["body", "model"],
      `Version ${version.number} of '${path}' is remote: it has no containers to deploy. Call the model itself`,
    );
  const own = configuration.hardware_identifier ?? model.hardware_identifier ?? DEFAULT_HARDWARE;
  const hardware_identifier = asked ?? base?.hardware_identifier ?? own;
  const issues = await unknownHardware(services, [hardware_identifier], () => ["body", "hardware"]);
  if (issues.length > 0) throw new ValidationFailure(issues);
  const settings = {
    ...(base ? settingsIn(base) : DEFAULTS),
    ...changes,
    ...(probe !== undefined && { probe: await probeOf(services, model.id, probe) }),
  };
  const { min_instances, max_instances } = settings;
  if (min_instances > max_instances)
    throw invalid(
      ["body", "max_instances"],
      `max_instances (${max_instances}) is less than min_instances (${min_instances})`,
    );
  if (min_instances > 0 && configuration.interface === "remote")
    throw invalid(
      ["body", "min_instances"],
      `Version ${version.number} of '${path}' is remote and has no containers here. Set min_instances to 0`,
    );
  if (min_instances > 0 && configuration.isolation === "prediction")
    throw invalid(
      ["body", "min_instances"],
      `Version ${version.number} of '${path}' has the isolation 'prediction': each of its containers runs one prediction, so none can be kept. Set min_instances to 0`,
    );
  await requireFallbacks(services, caller, version, settings.fallbacks);
  const runs = { model_id: model.id, version_number: version.number, hardware_identifier };
  return { settings: { ...settings, ...runs }, target };
}

/** @throws ValidationFailure for an example that does not exist, or is too large */
async function probeOf(
  { db }: Services,
  modelId: string,
  asked: NonNullable<UpdateDeployment["probe"]> | null,
): Promise<ReleaseSettings["probe"]> {
  if (!asked) return null;
  const { input, example } = asked;
  if (input) return { input };
  const at: Loc = ["body", "probe", "example"];
  const found = await findExample(db, modelId, example ?? "");
  if (!found)
    throw invalid(
      at,
      "The model has no such example. GET /v1/models/{owner}/{name}/examples lists them",
    );
  if (!fitsProbe(found.input)) throw invalid(at, TOO_LARGE_PROBE);
  return { input: found.input };
}

/** @throws ValidationFailure for a fallback that the account may not run, or that cannot answer for the version */
async function requireFallbacks(
  services: Services,
  caller: Caller,
  version: ResolvedVersion["version"],
  fallbacks: ReleaseSettings["fallbacks"],
): Promise<void> {
  let local = version.configuration.local_only ? `version ${version.number}` : undefined;
  for (const [n, { model }] of fallbacks.entries()) {
    const at: Loc = ["body", "fallbacks", `${n}`, "model"];
    const target = await resolveVersion(services, caller, model).catch((error) => {
      if (error instanceof ProblemError) throw invalid(at, error.message);
      throw error;
    });
    if (target.deployment)
      throw invalid(at, `'${model}' is a deployment. Name a model, with or without its version`);
    const { configuration } = target.version;
    if (local !== undefined && configuration.remote)
      throw invalid(
        at,
        `'${model}' is a remote version, and inputs of ${local} stay on this installation's machines (local_only)`,
      );
    if (configuration.local_only) local = `'${model}'`;
    if (!isFallbackFor(version, target.version))
      throw invalid(
        at,
        `'${model}' has the interface '${interfaceOf(configuration)}', and the deployment's version has '${interfaceOf(version.configuration)}'. A fallback gets the same input, so it needs the same interface`,
      );
  }
}

const DEFAULTS: Omit<ReleaseSettings, "model_id" | "version_number" | "hardware_identifier"> = {
  min_instances: 0,
  max_instances: MAX_INSTANCES,
  idle_seconds: null,
  max_concurrency: null,
  priority: null,
  probe: null,
  fallbacks: [],
};

export const settingsIn = ({
  model_id,
  version_number,
  hardware_identifier,
  min_instances,
  max_instances,
  idle_seconds,
  max_concurrency,
  priority,
  probe,
  fallbacks,
}: ReleaseSettings): ReleaseSettings => ({
  ...{ model_id, version_number, hardware_identifier, min_instances, max_instances },
  ...{ idle_seconds, max_concurrency, priority, probe, fallbacks },
});

/** Whether two releases run the same in the same way. */
export const isSame = (one: ReleaseSettings, other: ReleaseSettings): boolean =>
  JSON.stringify(settingsIn(one)) === JSON.stringify(settingsIn(other));

/**
 * Requires a session, or a token without limits of its runs, for a release with a probe: this runs as one of the
 * account, and again with each further release.
 * @throws ProblemError forbidden
 */
export async function requireProbe(
  services: Services,
  caller: Caller,
  { probe }: Pick<ReleaseSettings, "probe">,
): Promise<void> {
  const { is_session, scopes, priority, limits, user_id, token_id } = caller;
  if (probe === null || is_session) return;
  const { budgeted } = await getAccountFacts(services.db, user_id);
  const reasons = [
    ...(scopes.includes("predict") ? [] : ["lacks the scope predict"]),
    ...(priority === null ? [] : [`allows priority '${priority}' at most`]),
    ...(limits?.predictions_per_minute === undefined ? [] : ["limits predictions per minute"]),
    ...(limits?.max_running === undefined ? [] : ["limits running predictions"]),
    ...(budgeted.includes(tokenSubject(token_id)) ? ["has a budget"] : []),
  ];
  if (reasons.length === 0) return;
  throw new ProblemError(
    "forbidden",
    `This token cannot make a release with a probe, which would run outside its limits: it ${reasons.join(" and ")}. Set probe to null, or use a token without these limits, or the dashboard.`,
  );
}

/** The settings as the audit log has them. The input of a probe may be confidential. */
export function auditedSettings(settings: ReleaseSettings): Record<string, unknown> {
  const { probe: _, hardware_identifier: hardware, version_number, ...rest } = settingsIn(settings);
  return { ...rest, hardware, version: version_number };
}

/** @throws ProblemError conflict if the account may not claim the containers of the release */
export async function requireGrant(
  { db }: Services,
  accountId: string,
  release: NewRelease,
): Promise<void> {
  const { hardware_identifier, min_instances } = release;
  const { granted, claimed } = await findGrant(db, accountId, release);
  if (min_instances === 0 || claimed + min_instances <= granted) return;
  throw conflict(
    `min_instances is ${min_instances}, but this account may keep ${granted} containers of '${hardware_identifier}' running, and its other deployments claim ${claimed}. Lower min_instances, or ask an operator of this installation to grant more.`,
  );
}

/** Makes a release unless the grant refuses it. @throws as `requireGrant`, and as `withinQuota` */
export async function withinGrant<Row>(
  services: Services,
  accountId: string,
  release: NewRelease,
  writing: Promise<Row>,
): Promise<Row> {
  try {
    return await withinQuota(services, writing);
  } catch (error) {
    if (!isRefusedByGrant(error)) throw error;
    await requireGrant(services, accountId, release);
    throw conflict("What this account may keep running has just changed. Try again.");
  }
}
