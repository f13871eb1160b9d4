/** What a new prediction is, from what was asked, of which version, with which settings. */

import { pickVariables } from "../../domain/models/variables.ts";
import type { PredictionSpec, StoredWebhook } from "../../domain/predictions/state.ts";
import { isolationKeys } from "../../domain/scheduling/isolation.ts";
import { DEFAULT_EGRESS } from "../../protocol/egress.ts";
import type { StoredValue } from "../../protocol/event.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import { DEFAULT_ISOLATION } from "../../protocol/model.ts";
import type { CreatePredictionOfVersion } from "../../protocol/prediction.ts";
import type { ContainerInterface, InputFile, VendoraCall } from "../../protocol/runner.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import type { ResolvedVersion } from "./version-resolution.ts";

const TIMEOUT_SECONDS = 1_800;
const IDLE_SECONDS = 300;
const CONCURRENCY: Record<ContainerInterface, number> = { cog: 1, vendora: 32 };
const OUTPUT_BYTES = 16 * 1024 * 1024;
const LOGS_BYTES = 10 * 1024 * 1024;

/** What is not in the body of the request, or has been found out about it. */
export interface Circumstances {
  id: string;
  call: VendoraCall | null;
  /** Scheme and host that the request came to. */
  origin: string;
  /** Seconds after which it is cancelled. */
  cancelAfterSeconds: number | null;
  requestHash: string | null;
  files: InputFile[];
  storedInput: StoredValue | null;
  webhook: StoredWebhook | null;
  endpoints: PredictionSpec["endpoints"];
}

export async function predictionSpec(
  { settings }: Services,
  caller: Caller,
  { model, version }: ResolvedVersion,
  request: CreatePredictionOfVersion,
  {
    id,
    call,
    origin,
    cancelAfterSeconds,
    requestHash,
    files,
    storedInput,
    webhook,
    endpoints,
  }: Circumstances,
): Promise<PredictionSpec> {
  const { configuration } = version;
  const now = Date.now();
  const spoken = configuration.interface ?? "cog";
  const isolation = configuration.isolation ?? DEFAULT_ISOLATION;
  // Whoever has it to themselves leaves nothing to share: one run, and then it goes.
  const alone = isolation === "prediction";
  // The oldest, which stays while a new one is put before it.
  const secret = settings.secretKeys.at(-1) ?? "";
  return {
    id,
    url: `${origin}/v1/predictions/${id}`,
    user_id: caller.user_id,
    model_id: model.id,
    model: { owner: model.owner, name: model.name, version_number: version.number },
    hardware: configuration.hardware_identifier ?? model.hardware_identifier ?? DEFAULT_HARDWARE,
    image: {
      repository: configuration.image ?? version.repository,
      digest: version.container_image_digest,
    },
    keys: await isolationKeys(secret, {
      model_id: model.id,
      version_number: version.number,
      isolation,
      user_id: caller.user_id,
      prediction_id: id,
    }),
    interface: spoken,
    egress: configuration.egress ?? DEFAULT_EGRESS,
    call,
    measure: version.size === 0,
    setup_logs: caller.user_id === model.owner_id,
    variables: pickVariables(configuration.variable_names, model.variables),
    limits: {
      idle_seconds: alone ? 0 : (configuration.idle_seconds ?? IDLE_SECONDS),
      max_concurrency: alone ? 1 : (configuration.max_concurrency ?? CONCURRENCY[spoken]),
      output_bytes: OUTPUT_BYTES,
      logs_bytes: LOGS_BYTES,
    },
    files,
    stored_input: storedInput,
    stream: request.stream,
    webhook,
    endpoints,
    created_at: now,
    timeout_seconds: configuration.timeout_seconds ?? TIMEOUT_SECONDS,
    setup_timeout_seconds: settings.setupTimeoutSeconds,
    queue_timeout_seconds: settings.queueTimeoutSeconds,
    retention_seconds: request.retention_seconds ?? settings.retentionSeconds,
    cancel_at: cancelAfterSeconds === null ? null : now + cancelAfterSeconds * 1000,
    request_hash: requestHash,
  };
}
