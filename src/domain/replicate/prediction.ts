/** Predictions in the shape of Replicate's API. */
import type { Metrics } from "../../protocol/event.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import type {
  ReplicateEvent,
  ReplicatePredictionHead,
  ReplicateStatus,
} from "../../protocol/replicate.ts";
import type { PredictionEventName, Webhook } from "../../protocol/webhook.ts";
import { isTerminal } from "../predictions/status.ts";
import { versionIdOf } from "./versions.ts";

/** The path of Replicate's API: the base URL of its clients, below the origin of the deployment. */
export const REPLICATE_PATH = "/replicate/v1";

/** The facts that Replicate's shape has besides those of a prediction of ours. */
export interface ReplicateFacts {
  origin: string;
  model_id: string;
  /** The access token that created it; empty for a session of the dashboard. */
  token_id: string;
  data_removed: boolean;
  /** The signed URL of the event stream, which clients read without a token. */
  stream_url?: string | undefined;
  /** When the open attempt has started, and when it is canceled unless it has ended, Unix ms. */
  started_at?: number | null | undefined;
  cancel_at?: number | null | undefined;
  webhook?: Pick<Webhook, "url" | "events"> | null | undefined;
  /**
   * Whether the caller has waited in vain. Replicate then answers `starting`, whatever the prediction does:
   * its clients take any other status for the end, and would return an output that is not complete.
   */
  waited?: boolean | undefined;
}

export function replicateHead(
  prediction: Prediction,
  facts: ReplicateFacts,
): ReplicatePredictionHead {
  const { id, model, error, created_at } = prediction;
  const { origin, model_id, token_id, data_removed, stream_url, cancel_at, webhook } = facts;
  const api = `${origin}${REPLICATE_PATH}/predictions/${id}`;
  const ended = isTerminal(prediction.status);
  const completedAt = ended ? prediction.updated_at : null;
  return {
    id,
    model: `${model.owner}/${model.name}`,
    version: versionIdOf(model_id, model.version_number),
    source: token_id === "" ? "web" : "api",
    status: !ended && facts.waited ? "starting" : statusOf(prediction, facts),
    error: error?.message ?? null,
    created_at,
    started_at: startedAt(prediction, facts),
    completed_at: completedAt,
    ...(cancel_at != null && { deadline: new Date(cancel_at).toISOString() }),
    data_removed,
    metrics: metricsOf(prediction),
    cost: prediction.cost,
    urls: {
      get: api,
      cancel: `${api}/cancel`,
      web: `${origin}/predictions/${id}`,
      ...(stream_url !== undefined && { stream: stream_url }),
    },
    ...(webhook && {
      webhook: webhook.url,
      webhook_events_filter: (webhook.events ?? []).map((event) => THEIRS[event]),
    }),
  };
}

function statusOf(prediction: Prediction, { started_at, cancel_at }: ReplicateFacts) {
  const { status, updated_at, setup_time, execution_time } = prediction;
  if (status === "pending") return "starting";
  // A prediction whose runner was lost waits again, though it stays `started`.
  if (status === "started") return started_at === null ? "starting" : "processing";
  const ran = setup_time !== null || execution_time !== null;
  const isLate = cancel_at != null && Date.parse(updated_at) >= cancel_at;
  return status === "canceled" && !ran && isLate ? "aborted" : (status satisfies ReplicateStatus);
}

function startedAt(prediction: Prediction, { started_at }: ReplicateFacts): string | null {
  const { status, updated_at, execution_time } = prediction;
  if (!isTerminal(status)) return started_at ? new Date(started_at).toISOString() : null;
  if (execution_time === null) return null;
  return new Date(Date.parse(updated_at) - Number(execution_time) * 1_000).toISOString();
}

/** The counts of tokens, by Replicate's names for them. */
const COUNTS: Record<string, string> = {
  input_tokens: "input_token_count",
  output_tokens: "output_token_count",
};

function metricsOf({
  status,
  created_at,
  updated_at,
  execution_time,
  metrics,
}: Prediction): Metrics {
  const named = Object.entries(metrics ?? {}).map(([name, value]) => [COUNTS[name] ?? name, value]);
  return {
    ...Object.fromEntries(named),
    ...(execution_time !== null && { predict_time: Number(execution_time) }),
    ...(isTerminal(status) && {
      total_time: (Date.parse(updated_at) - Date.parse(created_at)) / 1_000,
    }),
  };
}

const THEIRS: Record<PredictionEventName, ReplicateEvent> = {
  started: "start",
  output: "output",
  completed: "completed",
};

/** Logs come with the events of outputs: no event of ours is for them alone. */
const OURS: Record<ReplicateEvent, PredictionEventName> = {
  start: "started",
  output: "output",
  logs: "output",
  completed: "completed",
};

/** The events that Replicate sends if a request does not choose. */
const DEFAULT_EVENTS: ReplicateEvent[] = ["output", "completed"];

/** Returns the webhook of a request, which has one URL or two fields for it. */
export function webhookIn({
  webhook,
  webhook_completed: completed,
  webhook_events_filter: filter,
}: {
  webhook?: string | null | undefined;
  webhook_completed?: string | null | undefined;
  webhook_events_filter?: ReplicateEvent[] | null | undefined;
}): { url: string; events: PredictionEventName[] } | null {
  if (webhook) {
    const asked = filter?.length ? filter : DEFAULT_EVENTS;
    return { url: webhook, events: [...new Set(asked.map((event) => OURS[event]))] };
  }
  return completed ? { url: completed, events: ["completed"] } : null;
}

/** The shortest and the longest time of `Cancel-After`, in seconds. */
const CANCEL_AFTER = { least: 5, most: 86_400 };

const TIMES = /^(?:(\d{1,3})h)?(?:(\d{1,5})m)?(?:(\d{1,6})s?)?$/;

/** @returns the seconds of `90`, `90s`, `5m` or `1h30m45s`; undefined for any other text */
export function cancelAfterIn(header: string): number | undefined {
  const [all, hours = 0, minutes = 0, seconds = 0] = TIMES.exec(header.trim()) ?? [];
  if (!all) return undefined;
  const sum = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds);
  return sum >= CANCEL_AFTER.least && sum <= CANCEL_AFTER.most ? sum : undefined;
}
