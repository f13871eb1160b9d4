/** The row of a prediction in the index of its account: a copy of its live state. */
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { Measures } from "../metrics/measures.ts";
import { measuresOf } from "./measures.ts";
import { initialState, type PredictionSpec, type PredictionState, waitsAgain } from "./state.ts";
import { isTerminal } from "./status.ts";

/** Times are unix ms. */
export interface PredictionRow {
  id: string;
  object_id: string;
  model_id: string;
  model_owner: string;
  model_name: string;
  version_number: number;
  /** The deployment that was named, its `owner/name` then, and the number of its release; null for a model. */
  deployment_id: string | null;
  deployment: string | null;
  release: number | null;
  stream: boolean;
  status: TaskStatus;
  created_at: number;
  updated_at: number;
  /** Seconds. */
  setup_time: number | null;
  execution_time: number | null;
  /** Billionths of the currency unit; null until the end. */
  cost: number | null;
  /** JSON text of its parts (domain/money/cost.ts); null for none. */
  cost_parts: string | null;
  /** JSON texts: a PredictionError and Metrics. */
  error: string | null;
  metrics: string | null;
  data_removed: boolean;
  /** The id of the last event that the row reflects, from REVISIONS on in a second object. */
  revision: number;
  /**
   * When the account looks at the row: a prediction that has not ended may have been lost, and one that has
   * ended should have removed its data. Null once it has, or if the account removes the data itself.
   */
  due_at: number | null;
  /** How long the account keeps the data, which it then removes; null if the prediction removes it. */
  kept_seconds: number | null;
  /** The access token that created the prediction, and its name; empty for a session of the dashboard. */
  token_id: string;
  token_name: string;
  /** The client token that created it; empty for none. */
  client_id: string;
  /** The maker (domain/accounts/access.ts). Empty in a person's own account. */
  maker: string;
  /** The maker's name at the create; null in a person's own account. */
  created_by: string | null;
  /** The identifier of the hardware class. */
  hardware: string;
  waits_again: boolean;
}

export interface PredictionUpdate extends PredictionRow {
  user_id: string;
  /** The prediction's part of the deployment's metrics, once it has ended. */
  measures?: Measures;
}

/** A number that is larger than the number of events of any object. */
export const REVISIONS = 2 ** 40;

/** Whether the object that wrote the row had begun: its first row reflects its first event. */
export const isOfBegun = (revision: number) => revision % REVISIONS > 1;

/** How long a row of a prediction that has not ended is believed. */
export const LOOK_MS = 5 * 60_000;

/** How late a prediction may be that removes its own data. The account then asks it: its alarm was lost. */
export const OWN_REMOVAL_MS = 3_600_000;

/** @param carried whether the data is removed by the account, and not by the prediction's own alarm */
export function predictionRow(
  spec: PredictionSpec,
  state: PredictionState,
  objectId: string,
  revision: number,
  carried = false,
): PredictionUpdate {
  const removed = state.forget_at !== null;
  return {
    id: spec.id,
    object_id: objectId,
    model_id: spec.model_id,
    model_owner: spec.model.owner,
    model_name: spec.model.name,
    version_number: spec.model.version_number,
    deployment_id: spec.deployment?.id ?? null,
    deployment: spec.deployment?.name ?? null,
    release: spec.deployment?.release ?? null,
    stream: spec.stream,
    status: state.status,
    created_at: spec.created_at,
    updated_at: state.updated_at,
    setup_time: state.setup_seconds,
    execution_time: state.execution_seconds,
    cost: state.cost,
    cost_parts: state.cost_parts.length > 0 ? JSON.stringify(state.cost_parts) : null,
    error: state.error && JSON.stringify(state.error),
    metrics: state.metrics && JSON.stringify(state.metrics),
    data_removed: removed,
    revision: (spec.object_number - 1) * REVISIONS + revision,
    due_at: removed || carried ? null : dueAt(spec, state),
    kept_seconds: carried ? spec.retention_seconds : null,
    user_id: spec.user_id,
    token_id: spec.token_id,
    token_name: spec.token_name,
    client_id: spec.client_id,
    maker: spec.maker,
    created_by: spec.created_by,
    hardware: spec.hardware.identifier,
    waits_again: waitsAgain(state),
    ...(isTerminal(state.status) && { measures: measuresOf(spec, state) }),
  };
}

function dueAt(spec: PredictionSpec, state: PredictionState): number {
  if (!isTerminal(state.status)) return state.updated_at + LOOK_MS;
  const end = state.completed_at ?? state.updated_at;
  return end + spec.retention_seconds * 1_000 + OWN_REMOVAL_MS;
}

export const initialRow = (spec: PredictionSpec, objectId: string) =>
  predictionRow(spec, initialState(spec), objectId, 1);
