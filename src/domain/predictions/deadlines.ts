/**
 * When a prediction must be looked at again. An object has one alarm: it is set to the earliest
 * of these, which follow from the state and are therefore never stored, nor out of step with it.
 */
import type { Attempt } from "./attempts.ts";
import { TOKEN_MS } from "./lease.ts";
import type { PredictionLife } from "./life.ts";

/** How long a runner is waited for. */
export interface Patience {
  /** From the last time it was heard. */
  lease_seconds: number;
  /** From being handed a job to being heard. */
  connect_seconds: number;
  /** To obey a cancel: longer than the 30 s that a runner gives the model before it kills it. */
  cancel_seconds: number;
}

/**
 * How long a runner has to come back to an object that was restarted, at least: one that is alive
 * knocks every 5 s at the latest (runner/src/control-plane/channel.ts).
 */
const RETURN_SECONDS = 10;

/**
 * When the runner of an object that was restarted counts as heard last. Pings leave no trace that
 * outlives the channel; frames do, and the lease goes on from the last one.
 */
export const heardBeforeRestart = (saidAt: number, now: number, { lease_seconds }: Patience) =>
  Math.max(saidAt, now - Math.max(0, lease_seconds - RETURN_SECONDS) * 1000);

/** A runner that is alive is heard sooner: then another one is looked for, beside it. */
const SECOND_MS = 1_000;

/** A dispatch that brought no runner is sent again: after 30 s, doubling up to 10 min. */
const REDISPATCH_SECONDS = { first: 30, most: 600 };

export type Deadline =
  | { kind: "wait"; at: number } // Prefer: wait=n, cancel
  | { kind: "queue"; at: number }
  | { kind: "redispatch"; at: number }
  | { kind: "connect"; at: number }
  | { kind: "second"; at: number }
  | { kind: "missed"; at: number }
  | { kind: "lease"; at: number }
  | { kind: "token"; at: number }
  | { kind: "setup"; at: number }
  | { kind: "run"; at: number }
  | { kind: "cancel"; at: number }
  | { kind: "webhooks"; at: number }
  | { kind: "retention"; at: number }
  | { kind: "forget"; at: number };

/** Webhooks of a prediction: when the next is due, and whether any is still to be delivered. */
export interface WebhookDeadline {
  at: number;
  pending: boolean;
}

/** The channel of the current attempt, while one is open. Times are unix ms. */
export interface OpenChannel {
  /** When its runner was last heard. */
  heard_at: number;
  /** When the runner's token was last found good. */
  token_known_at: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NOTHING_OWED: WebhookDeadline = { at: NEVER, pending: false };

export function deadlines(
  life: PredictionLife,
  channel: OpenChannel | null,
  patience: Patience,
  owed: WebhookDeadline = NOTHING_OWED,
): Deadline[] {
  const [dismissed] = life.state.dismissed;
  const own = ofLife(life, channel, patience);
  // Both outlive the data: while there is something to be delivered, or somebody to come, nothing
  // is forgotten.
  const found = owed.pending || dismissed ? own.filter(({ kind }) => kind !== "forget") : own;
  if (dismissed) found.push({ kind: "missed", at: connectBy(dismissed, patience) });
  // First, so that whatever else cannot be done just now keeps nobody from being told.
  return owed.at < NEVER ? [{ kind: "webhooks", at: owed.at }, ...found] : found;
}

function ofLife(
  { spec, state, terminal }: PredictionLife,
  channel: OpenChannel | null,
  patience: Patience,
): Deadline[] {
  if (state.forget_at !== null) return [{ kind: "forget", at: state.forget_at }];
  if (terminal) {
    return [{ kind: "retention", at: (state.completed_at ?? 0) + spec.retention_seconds * 1000 }];
  }
  const found: Deadline[] = [];
  if (spec.cancel_at !== null && state.cancel_requested_at === null) {
    found.push({ kind: "wait", at: spec.cancel_at });
  }
  const { attempt } = state;
  if (!attempt) {
    found.push({ kind: "queue", at: state.waiting_since + spec.queue_timeout_seconds * 1000 });
    found.push({
      kind: "redispatch",
      at: state.dispatched_at + redispatchSeconds(state.dispatches) * 1000,
    });
    return found;
  }
  if (channel === null && attempt.started_at === null) {
    const last = state.second ?? attempt;
    found.push({ kind: "connect", at: connectBy(last, patience) });
    if (!attempt.second_opened) found.push({ kind: "second", at: last.opened_at + SECOND_MS });
    return found;
  }
  const startedAt = attempt.started_at ?? attempt.opened_at;
  const heard = Math.max(channel?.heard_at ?? 0, attempt.heard_at ?? 0, startedAt);
  found.push({ kind: "lease", at: heard + patience.lease_seconds * 1000 });
  if (channel) found.push({ kind: "token", at: channel.token_known_at + TOKEN_MS });
  if (state.cancel_requested_at !== null) {
    found.push({ kind: "cancel", at: state.cancel_requested_at + patience.cancel_seconds * 1000 });
  }
  found.push(
    attempt.ready_at === null
      ? { kind: "setup", at: startedAt + spec.setup_timeout_seconds * 1000 }
      : { kind: "run", at: attempt.ready_at + spec.timeout_seconds * 1000 },
  );
  return found;
}

const connectBy = ({ opened_at }: Attempt, { connect_seconds }: Patience) =>
  opened_at + connect_seconds * 1000;

const redispatchSeconds = (dispatches: number) =>
  Math.min(REDISPATCH_SECONDS.first * 2 ** Math.max(0, dispatches - 1), REDISPATCH_SECONDS.most);

export const earliest = (all: Deadline[]) => Math.min(...all.map(({ at }) => at));
