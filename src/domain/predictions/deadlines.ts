/** The deadlines of a prediction, computed from its state. The alarm of its object is the earliest. */
import { TOKEN_MS } from "../accounts/access.ts";
import { EXTENSION_MS, usedUpAt } from "../money/reservation.ts";
import type { Attempt } from "./attempts.ts";
import type { PredictionLife } from "./life.ts";
import type { PredictionSpec, PredictionState } from "./state.ts";

export interface Patience {
  /** Time since the runner was last heard, after which its lease is lost. */
  lease_seconds: number;
  /** Time that a runner has to connect, since it was handed a job. */
  connect_seconds: number;
  /** Time that a runner has to obey a cancel: it kills a model that does not stop after 30 s. */
  cancel_seconds: number;
  /** Time until a dispatch that found no runner is sent again; doubles up to REDISPATCH_FACTOR times. */
  redispatch_seconds: number;
}

/** A live runner tries every 5 s at most (runner/src/control-plane/channel.ts) after a restart. */
const RETURN_SECONDS = 10;

/** When a runner was last heard before a restart: pings are not stored, so its last frame counts. */
export const seenBeforeRestart = (lastFrameAt: number, now: number, { lease_seconds }: Patience) =>
  Math.max(lastFrameAt, now - Math.max(0, lease_seconds - RETURN_SECONDS) * 1000);

/** The wait for a caller that a restart has cut off: the Worker resumes the stream within 4 s. */
const CALLER_MS = 10_000;

/** The wait for a further dispatch grows up to this many times: a first wait of 30 s becomes 10 min. */
const REDISPATCH_FACTOR = 20;

export type Deadline =
  | { kind: "wait"; at: number } // Prefer: wait=n, cancel
  | { kind: "caller"; at: number }
  | { kind: "queue"; at: number }
  | { kind: "redispatch"; at: number }
  | { kind: "connect"; at: number }
  | { kind: "second"; at: number }
  | { kind: "missed"; at: number }
  | { kind: "lease"; at: number }
  | { kind: "token"; at: number }
  | { kind: "setup"; at: number }
  | { kind: "run"; at: number }
  | { kind: "extension"; at: number }
  | { kind: "budget"; at: number }
  | { kind: "fallback"; at: number }
  | { kind: "cancel"; at: number }
  | { kind: "webhooks"; at: number }
  | { kind: "retention"; at: number }
  | { kind: "forget"; at: number };

/** When the next webhook of a prediction is due, and whether any is still to be delivered. */
export interface WebhookDeadline {
  at: number;
  pending: boolean;
}

export interface OpenChannel {
  last_seen_at: number;
  /** When the runner's token was last known to be valid. */
  token_known_at: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NO_WEBHOOKS: WebhookDeadline = { at: NEVER, pending: false };

export function deadlines(
  life: PredictionLife,
  channel: OpenChannel | null,
  patience: Patience,
  webhooks: WebhookDeadline = NO_WEBHOOKS,
): Deadline[] {
  const [dismissed] = life.state.dismissed;
  const own = ownDeadlines(life, channel, patience);
  // While a webhook is to be delivered or a runner may still connect, the record is kept.
  const isAwaited = webhooks.pending || dismissed !== undefined;
  const all = isAwaited ? own.filter(({ kind }) => kind !== "forget") : own;
  if (dismissed) all.push({ kind: "missed", at: connectBy(dismissed, patience) });
  // Webhooks come first: a failure of anything else must not hold them up.
  return webhooks.at < NEVER ? [{ kind: "webhooks", at: webhooks.at }, ...all] : all;
}

function ownDeadlines(
  { spec, state, terminal, fallback }: PredictionLife,
  channel: OpenChannel | null,
  patience: Patience,
): Deadline[] {
  if (state.forget_at !== null) return [{ kind: "forget", at: state.forget_at }];
  if (terminal) {
    return [{ kind: "retention", at: (state.completed_at ?? 0) + spec.retention_seconds * 1000 }];
  }
  const all: Deadline[] = [];
  if (state.cancel_requested_at === null) {
    if (spec.cancel_at !== null) all.push({ kind: "wait", at: spec.cancel_at });
    if (state.caller_lost_at !== null)
      all.push({ kind: "caller", at: state.caller_lost_at + CALLER_MS });
  }
  const { attempt } = state;
  const within = fallback?.after_seconds ?? null;
  if (within !== null && state.cancel_requested_at === null && (attempt?.ready_at ?? null) === null)
    all.push({ kind: "fallback", at: state.asked_at + within * 1000 });
  if (!attempt) {
    all.push({ kind: "queue", at: state.waiting_since + spec.queue_timeout_seconds * 1000 });
    all.push({
      kind: "redispatch",
      at:
        state.dispatched_at +
        redispatchSeconds(state.dispatches, spec.remote ? REMOTE_PATIENCE : patience) * 1000,
    });
    return all;
  }
  if (channel === null && attempt.started_at === null) {
    const last = state.second ?? attempt;
    all.push({ kind: "connect", at: connectBy(last, patience) });
    if (attempt.second_at !== null && !spec.remote)
      all.push({ kind: "second", at: attempt.second_at });
    return all;
  }
  const startedAt = attempt.started_at ?? attempt.opened_at;
  const lastSeenAt = Math.max(channel?.last_seen_at ?? 0, attempt.last_seen_at ?? 0, startedAt);
  all.push({ kind: "lease", at: lastSeenAt + patience.lease_seconds * 1000 });
  if (channel) all.push({ kind: "token", at: channel.token_known_at + TOKEN_MS });
  if (state.cancel_requested_at !== null) {
    all.push({ kind: "cancel", at: state.cancel_requested_at + patience.cancel_seconds * 1000 });
  }
  all.push(
    attempt.ready_at === null
      ? { kind: "setup", at: startedAt + spec.setup_timeout_seconds * 1000 }
      : { kind: "run", at: attempt.ready_at + spec.timeout_seconds * 1000 },
  );
  const times = { started_at: startedAt, ready_at: attempt.ready_at };
  return [...all, ...budgetDeadlines(spec, state, times)];
}

/** How long after a request for an extension that the account has not answered it is made again. */
const ASK_AGAIN_MS = 1_000;

/** When a run needs an extension of its reservation, and when it has used it up. */
function budgetDeadlines(
  spec: PredictionSpec,
  { reserved, extension_asked_at, extension_refused }: PredictionState,
  times: Parameters<typeof usedUpAt>[2],
): Deadline[] {
  if (reserved === null || !spec.reservation || reserved >= spec.reservation.most) return [];
  const end = usedUpAt(spec, reserved, times);
  const used: Deadline = { kind: "budget", at: end };
  if (extension_refused) return [used];
  const at = Math.max(end - EXTENSION_MS, (extension_asked_at ?? 0) + ASK_AGAIN_MS);
  // An alarm that comes late asks first: what is used up by then can still be extended.
  return [{ kind: "extension", at }, used];
}

const connectBy = ({ opened_at }: Attempt, { connect_seconds }: Patience) =>
  opened_at + connect_seconds * 1000;

/** The time until another object is asked for a remote call. */
const REMOTE_PATIENCE = { redispatch_seconds: 2 };

const redispatchSeconds = (
  dispatches: number,
  { redispatch_seconds }: Pick<Patience, "redispatch_seconds">,
) => redispatch_seconds * Math.min(2 ** Math.max(0, dispatches - 1), REDISPATCH_FACTOR);

export const earliest = (all: Deadline[]) => Math.min(...all.map(({ at }) => at));

/** How long an Idempotency-Key finds its prediction. */
const IDEMPOTENCY_KEY_MS = 86_400_000;
/** The longest that a request that writes to R2 takes. */
const LATE_WRITE_MS = 3_600_000;

/**
 * When the record of a prediction may be deleted, once the data is. Until then an Idempotency-Key that is used again
 * must find it, or the prediction would run a second time; and an object that a runner was writing to R2 at that
 * moment must be deleted, too.
 */
export function forgetAt({ spec, state }: PredictionLife, now: number): number {
  const keyed = spec.claim === null ? now : spec.created_at + IDEMPOTENCY_KEY_MS;
  const late = state.stored ? now + LATE_WRITE_MS : now;
  return Math.max(keyed, late);
}
