/** The stored data of a prediction object: the request, and the state so far. */

import type { Finish } from "../../protocol/channel.ts";
import type { Priority } from "../../protocol/common.ts";
import type { Egress } from "../../protocol/egress.ts";
import type { Metrics, StoredValue } from "../../protocol/event.ts";
import type { Remote } from "../../protocol/model.ts";
import type { Prediction, PredictionError, TaskStatus } from "../../protocol/prediction.ts";
import type { Prices } from "../../protocol/prices.ts";
import type { WaitingJob } from "../../protocol/queue.ts";
import type {
  ContainerInterface,
  Image,
  InputFile,
  JobHardware,
  Keys,
  Limits,
  OpenAiCall,
  ResponsesVia,
} from "../../protocol/runner.ts";
import type { Webhook, WebhookEventName } from "../../protocol/webhook.ts";
import type { JobWeight, WeightFile } from "../../protocol/weights.ts";
import { type BillableTime, type CostPart, presentCost } from "../money/cost.ts";
import type { Reservation } from "../money/reservation.ts";
import { type AttemptsState, NO_ATTEMPTS } from "./attempts.ts";
import type { Trace } from "./trace.ts";

export interface StoredWebhook extends Webhook {
  encrypted?: boolean;
  /** The API whose shape its bodies have, and whose secret signs them. By default our own. */
  api?: "replicate";
}

/** An Idempotency-Key, and what distinguishes a repeated create from another one with the same key. */
export interface Claim {
  /** Keys are unique for each maker of an account. */
  maker: string;
  key: string;
  hash: string;
}

/** A weight of the version. A file is named by its key: its URL is signed for each hand-out. */
export type SpecWeight = Extract<JobWeight, { kind: "oci" }> | (WeightFile & { kind: "file" });

interface SpecHardware extends JobHardware {
  pool: string;
}

/** The request. It never changes. */
export interface PredictionSpec {
  id: string;
  url: string;
  user_id: string;
  /** The maker (domain/accounts/access.ts). Empty in a person's own account. */
  maker: string;
  /** The maker's username then, or the name of the service token; null in a person's own account. */
  created_by: string | null;
  account_object: string;
  /** The access token that created the prediction; empty for a session of the dashboard. */
  token_id: string;
  token_name: string;
  /** The client token that created the prediction, on behalf of that access token; empty for none. */
  client_id: string;
  model_id: string;
  model_owner_id: string;
  /** Whether the model is private and another account's: readers lose their streams with the share. */
  is_borrowed: boolean;
  model: { owner: string; name: string; version_number: number };
  /** The deployment that was named, `owner/name`, and its release. Absent: a model was. */
  deployment?: {
    id: string;
    name: string;
    release: number;
    /** Whether the prediction starts a container of the release: its end is told (protocol/queue.ts). */
    starts?: true;
  };
  hardware: SpecHardware;
  /** Price of the hardware at the creation, in billionths of the currency unit; null if not set. */
  price_per_hour: number | null;
  /** The prices of the version at the creation, for this account, in billionths. Absent: it has none. */
  prices?: Prices;
  /** Whether the setup that the run causes is part of its cost. */
  charges_setup: boolean;
  currency: string;
  priority: Priority;
  image: Image;
  /** Opaque to the runner: runs with equal keys may share a container or files. */
  keys: Keys;
  interface: ContainerInterface;
  /** The versions that answer in turn if this one cannot. Absent: none. */
  fallbacks?: Fallback[];
  /** The host that answers the call, in place of a runner. */
  remote?: Remote;
  egress: Egress;
  /** The OpenAI call that created the prediction, whose body is the input; null for any other prediction. */
  call: OpenAiCall | null;
  responses?: ResponsesVia;
  /** Encrypted; decrypted only for the runner that gets the job. */
  variables: Record<string, string>;
  /** Whether the logs of the container's setup are included: only those who may change the model get them. */
  setup_logs: boolean;
  /** Whether the runner is asked for the image's size, because it is not known yet. */
  measure: boolean;
  /** Whether the runner is asked what the container's server describes: the version waits for it. */
  describe?: true;
  limits: Limits;
  files: InputFile[];
  weights?: SpecWeight[];
  /** The place of the input when it is too large for the object. */
  stored_input: StoredValue | null;
  /** Whether the prediction's trace has the beginning of its input and output. */
  trace_content?: true;
  /** The prediction starts a container for a capacity claim, and does not run the model. */
  warm_up?: true;
  stream: boolean;
  webhook: StoredWebhook | null;
  /** The account's endpoints that were enabled when the prediction was created. */
  endpoints: { id: string; events: WebhookEventName[] }[];
  created_at: number;
  timeout_seconds: number;
  setup_timeout_seconds: number;
  queue_timeout_seconds: number;
  retention_seconds: number;
  /** When to cancel the prediction if it has not ended (`Prefer: wait=n, cancel`, OpenAI calls). */
  cancel_at: number | null;
  /** Whether the caller's disconnecting cancels it: an OpenAI call without an Idempotency-Key. */
  cancel_on_disconnect: boolean;
  claim: Claim | null;
  /** The request to the account to reserve an amount; null: no budget applies. */
  reservation: Reservation | null;
  /** Whether the row is written only when the prediction lasts or has ended. */
  row_held: boolean;
  /** Absent: the prediction is not traced. */
  trace?: Trace;
  /** 1; 2 when the first object died before it began. Rows of a later object replace those of the first. */
  object_number: number;
}

/** The part of a spec that a version decides. */
export type VersionSpec = Pick<
  PredictionSpec,
  | ("model_id" | "model_owner_id" | "is_borrowed" | "model" | "hardware" | "price_per_hour")
  | ("image" | "keys" | "interface" | "egress" | "variables" | "measure" | "setup_logs" | "limits")
  | ("timeout_seconds" | "prices" | "responses" | "remote" | "describe" | "weights")
  | "trace_content"
>;

/** A version that answers if those before it cannot. */
export interface Fallback {
  /** How long the version before has until its run begins; null: until it fails. */
  after_seconds: number | null;
  spec: VersionSpec;
}

/** The fields of a version that another may lack. */
const NO_OPTIONS = {
  ...{ prices: undefined, responses: undefined, remote: undefined },
  ...{ describe: undefined, weights: undefined, trace_content: undefined },
};

/** Returns the spec after the prediction has fallen back so many times. */
export function specAfter(created: PredictionSpec, fallbacks: number): PredictionSpec {
  const fallback = created.fallbacks?.[fallbacks - 1];
  return fallback ? { ...created, ...NO_OPTIONS, ...fallback.spec } : created;
}

/** Read-only: only the transitions of PredictionLife write it. Times are unix ms. */
export interface PredictionState extends AttemptsState {
  readonly status: TaskStatus;
  readonly updated_at: number;
  /** How many attempts were lost after they had started, and how many were handed back. */
  readonly lost_count: number;
  readonly release_count: number;
  /** The runners whose machines failed to start the prediction, in order; one may be there twice. */
  readonly failed_on: readonly string[];
  /** Since when the prediction waits, its dispatches since then, and when the last one was. */
  readonly waiting_since: number;
  readonly dispatches: number;
  readonly dispatched_at: number;
  /** How many times the prediction has fallen back, and since when the present version is asked. */
  readonly fallbacks_used: number;
  readonly asked_at: number;
  readonly cancel_requested_at: number | null;
  /** When the object was restarted, if the caller has not followed the prediction again since. */
  readonly caller_lost_at: number | null;
  /** When the first output of the last attempt came. */
  readonly first_output_at: number | null;
  readonly completed_at: number | null;
  readonly setup_seconds: number | null;
  readonly execution_seconds: number | null;
  /** Null unless the time of the last attempt is paid for. */
  readonly billable: BillableTime | null;
  /** Billionths of the currency unit; null until the end. */
  readonly cost: number | null;
  readonly cost_parts: readonly CostPart[];
  /** The amount that is reserved of hard budgets, the most that the prediction may cost; null: nothing limits it. */
  readonly reserved: number | null;
  /** When an extension was last requested, if it was not granted. */
  readonly extension_asked_at: number | null;
  readonly extension_refused: boolean;
  readonly error: PredictionError | null;
  readonly metrics: Metrics | null;
  /** Size of the image, if the runner was asked for it and reported it. */
  readonly image_bytes: number | null;
  /** How the `output` events make up the output. */
  readonly output: Finish["output"];
  /** Whether anything of the prediction may lie in R2, to be deleted when its retention ends. */
  readonly stored: boolean;
  /** Whether no webhook is sent, because the creation failed after the prediction had begun. */
  readonly webhooks_suppressed: boolean;
  /** Null until input, output and events are deleted; then, when the rest of the record is. */
  readonly forget_at: number | null;
}

/** Whether anything of the input is in R2, where only the row says what to delete. */
export const hasStoredInput = ({
  id,
  stored_input,
  files,
}: Pick<PredictionSpec, "id" | "stored_input" | "files">): boolean =>
  stored_input !== null || files.some(({ stored }) => stored?.key.startsWith(`${id}/`));

/** Whether the prediction had started, was lost or handed back, and has not started again. */
export const waitsAgain = ({
  status,
  attempt,
}: Pick<PredictionState, "status" | "attempt">): boolean =>
  status === "started" && (attempt?.started_at ?? null) === null;

export const initialState = (spec: PredictionSpec): PredictionState => ({
  ...NO_ATTEMPTS,
  status: "pending",
  updated_at: spec.created_at,
  lost_count: 0,
  release_count: 0,
  failed_on: [],
  waiting_since: spec.created_at,
  dispatches: 0,
  dispatched_at: spec.created_at,
  fallbacks_used: 0,
  asked_at: spec.created_at,
  cancel_requested_at: null,
  caller_lost_at: null,
  first_output_at: null,
  completed_at: null,
  setup_seconds: null,
  execution_seconds: null,
  billable: null,
  cost: null,
  cost_parts: [],
  reserved: null,
  extension_asked_at: null,
  extension_refused: false,
  image_bytes: null,
  error: null,
  metrics: null,
  output: "none",
  stored: hasStoredInput(spec),
  webhooks_suppressed: false,
  forget_at: null,
});

export const secondsText = (seconds: number | null) =>
  seconds === null ? null : seconds.toFixed(3);

export function presentPrediction(spec: PredictionSpec, state: PredictionState): Prediction {
  return {
    id: spec.id,
    model: spec.model,
    ...(spec.deployment && { deployment: spec.deployment.name }),
    created_at: new Date(spec.created_at).toISOString(),
    updated_at: new Date(state.updated_at).toISOString(),
    status: state.status,
    setup_time: secondsText(state.setup_seconds),
    execution_time: secondsText(state.execution_seconds),
    error: state.error,
    metrics: state.metrics,
    cost:
      state.cost === null
        ? null
        : presentCost({ amount: state.cost, parts: state.cost_parts }, spec.currency),
    url: spec.url,
    stream: spec.stream,
    created_by: spec.created_by,
  };
}

/** Returns a prediction as its events have it. Holders of stream tokens read them, who may not know its maker. */
export const predictionOfEvent = (spec: PredictionSpec, state: PredictionState): Prediction =>
  presentPrediction({ ...spec, created_by: null }, state);

/**
 * Short runs: a caller waits for them, and they end at once. Such a run has one row in D1, in its final
 * form, which its object writes after the answer. So the row is held back until it is known whether the
 * run lasts; until then nobody has its id.
 */

/** How long a run counts as short: nearly all end within this if a machine runs 32 at a time. */
export const SHORT_RUN_MS = 250;

/** Whether the account must agree before the job is offered: it claims a key, or reserves an amount. */
export const isAdmitted = ({ claim, reservation }: Pick<PredictionSpec, "claim" | "reservation">) =>
  claim !== null || reservation !== null;

/**
 * Whether the row may be held back. It may not when anybody else may look for it (by a stream, a webhook, a
 * repeated Idempotency-Key), nor when the input is in R2, where only the row says what to delete.
 */
export const holdsRow = (
  waits: boolean,
  spec: Pick<
    PredictionSpec,
    "id" | "webhook" | "endpoints" | "stored_input" | "files" | "claim" | "reservation"
  >,
): boolean =>
  waits &&
  spec.webhook === null &&
  spec.endpoints.length === 0 &&
  !hasStoredInput(spec) &&
  !isAdmitted(spec);

/** Returns `owner/name:version` of the version that answers. */
export const versionNameOf = ({ model: { owner, name, version_number } }: PredictionSpec) =>
  `${owner}/${name}:${version_number}`;

/** Returns what the pool of the version's hardware needs to know of the prediction. */
export function waitingJobOf(spec: PredictionSpec, objectId: string): WaitingJob {
  return {
    object_id: objectId,
    user_id: spec.user_id,
    pool: spec.hardware.pool,
    hardware: spec.hardware.identifier,
    gpus: spec.hardware.gpus,
    priority: spec.priority,
    model: versionNameOf(spec),
    model_id: spec.model_id,
    model_owner_id: spec.model_owner_id,
    image: `${spec.image.repository}@${spec.image.digest}`,
    container_key: spec.keys.container,
    max_concurrency: spec.limits.max_concurrency,
    run_limit_ms: spec.timeout_seconds * 1_000,
    ...(spec.warm_up && { warm_up: true as const }),
  };
}
