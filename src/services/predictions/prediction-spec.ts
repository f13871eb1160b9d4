/** The spec of a new prediction, from the request, the version and the settings. */
import { hasRole } from "../../domain/accounts/access.ts";
import { interfaceOf, REMOTE_HARDWARE } from "../../domain/models/remote.ts";
import { pickVariables } from "../../domain/models/variables.ts";
import { pricesInForce } from "../../domain/money/prices-in-force.ts";
import { reservationOfAny } from "../../domain/money/reservation.ts";
import { responsesViaOf } from "../../domain/openai/call.ts";
import {
  holdsRow,
  type PredictionSpec,
  type SpecWeight,
  type VersionSpec,
} from "../../domain/predictions/state.ts";
import { beginTrace, type Trace } from "../../domain/predictions/trace.ts";
import { isolationKeys } from "../../domain/scheduling/isolation.ts";
import type { TraceSettings } from "../../env-traces.ts";
import { currentRequest } from "../../lib/current-request.ts";
import { DEFAULT_EGRESS } from "../../protocol/egress.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import { type Configuration, DEFAULT_ISOLATION } from "../../protocol/model.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { makerOf, reservationFor, timeLimits } from "./reservation.ts";
import { isBorrowed, type ResolvedFallback, type ResolvedVersion } from "./version-resolution.ts";

const IDLE_SECONDS = 300;
const MAX_CONCURRENCY: Record<ContainerInterface, number> = { cog: 1, vendora: 32 };
const OUTPUT_BYTES = 16 * 1024 * 1024;
const LOGS_BYTES = 10 * 1024 * 1024;

/** The fields of a spec that neither the version nor the settings have. */
type RequestedFields = Pick<
  PredictionSpec,
  | "id"
  | "account_object"
  | "priority"
  | "call"
  | "claim"
  | "files"
  | "stored_input"
  | "webhook"
  | "endpoints"
  | "cancel_on_disconnect"
  | "warm_up"
> & {
  /** The subjects of the account to which hard budgets apply. */
  budgeted: string[];
  starts?: true | undefined;
};

/**
 * @param fallbacks the versions that answer in turn if the target cannot
 * @param waits whether the caller waits for the end, and for nothing before
 * @param cancelAfterSeconds null: never
 */
export async function predictionSpec(
  services: Services,
  caller: Caller,
  { fallbacks = [], ...target }: ResolvedVersion & { fallbacks?: ResolvedFallback[] },
  request: CreatePredictionOfVersion,
  { budgeted, starts, ...fields }: RequestedFields,
  {
    origin,
    waits,
    cancelAfterSeconds,
  }: { origin: string; waits: boolean; cancelAfterSeconds: number | null },
): Promise<PredictionSpec> {
  const { settings } = services;
  const { deployment } = target;
  const now = Date.now();
  const { id } = fields;
  const run = { id, call: fields.call, now };
  const [spec, ...others] = await Promise.all([
    versionSpec(services, caller, target, run),
    ...fallbacks.map((one) => versionSpec(services, caller, one.target, run)),
  ]);
  const trace = settings.traces && traceOf(settings.traces);
  const maker = makerOf(caller, request, budgeted);
  const charges_setup = settings.chargesSetup;
  const { setup_timeout_seconds } = timeLimits(services, target.version);
  const reserving = (one: VersionSpec) =>
    reservationFor(caller, maker, budgeted, { ...one, charges_setup, setup_timeout_seconds });
  const first = reserving(spec);
  const rest = others.map(reserving).filter((one) => one !== null);
  const reservation = first && reservationOfAny(first, rest);
  return {
    url: `${origin}/v1/predictions/${id}`,
    user_id: caller.user_id,
    ...maker,
    created_by: caller.maker_name ?? null,
    ...(deployment && {
      deployment: {
        id: deployment.id,
        name: `${deployment.owner}/${deployment.name}`,
        release: deployment.release,
        ...(starts && { starts }),
      },
    }),
    ...spec,
    ...(fallbacks.length > 0 && {
      fallbacks: fallbacks.flatMap(({ after_seconds }, n) => {
        const other = others[n];
        return other ? [{ after_seconds, spec: other }] : [];
      }),
    }),
    charges_setup,
    currency: settings.currency,
    ...fields,
    ...(trace && { trace }),
    reservation,
    row_held: holdsRow(waits, { ...fields, reservation }),
    object_number: 1,
    stream: request.stream,
    created_at: now,
    setup_timeout_seconds,
    queue_timeout_seconds: settings.queueTimeoutSeconds,
    retention_seconds: request.retention_seconds ?? settings.retentionSeconds,
    cancel_at: cancelAfterSeconds === null ? null : now + cancelAfterSeconds * 1000,
  };
}

/** Returns the part of a spec that a version decides. */
async function versionSpec(
  services: Services,
  caller: Caller,
  target: ResolvedVersion,
  { id, call, now }: Pick<PredictionSpec, "id" | "call"> & { now: number },
): Promise<VersionSpec> {
  const { settings } = services;
  const { model, version, deployment } = target;
  const { configuration } = version;
  const containerInterface = interfaceOf(configuration);
  const isolation = configuration.isolation ?? DEFAULT_ISOLATION;
  // A container of one prediction is never shared: it has one run and is then stopped.
  const isExclusive = isolation === "prediction";
  // The oldest key is used: it does not change when a new one is put in front.
  const secret = settings.secretKeys.at(-1) ?? "";
  const weights = weightsOf(version);
  const { remote } = configuration;
  const { hardware, price_per_hour } = remote ? REMOTE_PLACE : hardwareOf(target);
  const isOwn = caller.user_id === model.owner_id;
  const prices = pricesInForce(version.prices, isOwn, price_per_hour, now);
  const variables = pickVariables(
    remote ? [remote.key_variable ?? ""] : configuration.variable_names,
    model.variables,
  );
  const { timeout_seconds } = timeLimits(services, version);
  const max_concurrency = maxConcurrencyOf(configuration, deployment?.max_concurrency);
  return {
    model_id: model.id,
    model_owner_id: model.owner_id,
    is_borrowed: isBorrowed(caller, model),
    model: { owner: model.owner, name: model.name, version_number: version.number },
    hardware,
    price_per_hour,
    ...(prices && { prices }),
    image: {
      repository: configuration.image ?? version.repository,
      digest: version.container_image_digest,
    },
    keys: await isolationKeys(secret, {
      model_id: model.id,
      version_number: version.number,
      hardware,
      variables,
      isolation,
      user_id: caller.user_id,
      prediction_id: id,
      weights_owner_id: weights && model.owner_id,
      deployment: deployment && { id: deployment.id, max_concurrency },
    }),
    interface: containerInterface,
    ...(remote && { remote }),
    egress: configuration.egress ?? DEFAULT_EGRESS,
    ...(call === "responses" && { responses: responsesViaOf(version) }),
    measure: !remote && version.size === 0,
    ...(version.awaits && { describe: true as const }),
    setup_logs: caller.user_id === model.owner_id && hasRole(caller, "developer"),
    variables,
    limits: {
      idle_seconds: isExclusive
        ? 0
        : (deployment?.idle_seconds ?? configuration.idle_seconds ?? IDLE_SECONDS),
      max_concurrency,
      output_bytes: OUTPUT_BYTES,
      logs_bytes: LOGS_BYTES,
      ...(configuration.listen_timeout_seconds && {
        listen_seconds: configuration.listen_timeout_seconds,
      }),
    },
    ...(weights && { weights }),
    // Inputs of others are not the owner's to show.
    ...(configuration.trace_content && isOwn && { trace_content: true as const }),
    timeout_seconds,
  };
}

/** Remote versions have no machine, and no price but their own. */
const REMOTE_PLACE = {
  hardware: { identifier: REMOTE_HARDWARE, pool: REMOTE_HARDWARE, gpus: 0 },
  price_per_hour: null,
};

/** @param own what a deployment has set */
export function maxConcurrencyOf(
  configuration: Configuration,
  own: number | null | undefined,
): number {
  const { isolation, max_concurrency } = configuration;
  if (isolation === "prediction") return 1;
  return own ?? max_concurrency ?? MAX_CONCURRENCY[interfaceOf(configuration)];
}

/** Returns the trace of the prediction; undefined if it is not sampled. */
function traceOf({ sampleRate }: TraceSettings): Trace | undefined {
  const traced = currentRequest()?.traced;
  return traced && beginTrace(traced, sampleRate);
}

/**
 * The hardware of a version. A deleted class is a pool of its own, without GPUs: jobs that its runners have
 * not done wait there.
 */
function hardwareOf({
  model,
  version,
  deployment,
}: ResolvedVersion): Pick<PredictionSpec, "hardware" | "price_per_hour"> {
  const own = version.configuration.hardware_identifier;
  const identifier =
    deployment?.hardware_identifier ?? own ?? model.hardware_identifier ?? DEFAULT_HARDWARE;
  const { pool, gpus, price_per_hour } =
    deployment ?? (own === undefined ? model.hardware : version.hardware);
  const hardware = { identifier, pool: pool ?? identifier, gpus: gpus ?? 0 };
  return { hardware, price_per_hour };
}

/** The weights of a version; undefined for none, as most versions have. */
function weightsOf({ weights, weight_files }: VersionRow): SpecWeight[] | undefined {
  const all = [
    ...weights.map(({ name, target, manifest }) => {
      return { kind: "oci" as const, name, target, manifest };
    }),
    ...weight_files.map((file) => ({ kind: "file" as const, ...file })),
  ];
  return all.length === 0 ? undefined : all;
}
