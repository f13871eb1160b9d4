/** The silence of runners, which their pools notice before they are shown as offline. */
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";

/** The silence that is not reported: a connection may break, and be made again. */
const UNNOTICED_MS = 10_000;

/** The silence of a runner that only reports every 30 s, because it drains or was given up. */
const UNREPORTED_MS = 45_000;

/** Missed reports after which a runner is shown as offline. */
const OFFLINE_REPORTS = 3;

/** How long a runner may be silent before it is shown as offline. */
export const offlineMs = (telemetrySeconds: number) => OFFLINE_REPORTS * telemetrySeconds * 1_000;

export const isOffline = ({ state }: Pick<RunnerState, "state">): boolean =>
  state === "offline" || state === "stopped";

type LastReport = Pick<RunnerState, "state" | "draining" | "connected" | "last_seen_at">;

/** Returns how long a runner that should be heard was silent; undefined for one that is heard, or is gone. */
export function silenceOf(runner: LastReport, now: number): number | undefined {
  const { state, draining, connected, last_seen_at } = runner;
  if (state !== "ready" && state !== "draining") return undefined;
  if (connected === true || last_seen_at === null) return undefined;
  const ms = now - Date.parse(last_seen_at);
  const isMissed = state === "ready" && !draining && connected === false;
  return ms < (isMissed ? UNNOTICED_MS : UNREPORTED_MS) ? undefined : ms;
}

/** Whether the runner's reports describe its current state, as far as known. */
export const isResponding = (runner: LastReport, now: number): boolean =>
  !isOffline(runner) && silenceOf(runner, now) === undefined;

/** How long a runner may be gone before that is an error, though no prediction needs it. */
const MISSED_MS = 2 * 60_000;

type GoneRunner = LastReport & Pick<RunnerState, "revoked" | "hardware" | "running">;

/** Returns how long a runner has been gone; undefined for one that was stopped or whose token was revoked. */
export function goneFor(runner: GoneRunner, now: number): number | undefined {
  const { state, revoked, last_seen_at } = runner;
  if (state !== "offline") return silenceOf(runner, now);
  return revoked || last_seen_at === null ? undefined : now - Date.parse(last_seen_at);
}

/**
 * Whether a runner that is gone is an error: predictions need it, or it has been gone for 2 minutes.
 * @param wanted the hardware that predictions wait for
 */
export function isMissed(runner: GoneRunner, wanted: ReadonlySet<string>, now: number): boolean {
  const gone = goneFor(runner, now);
  if (gone === undefined) return false;
  const isNeeded = runner.running.length > 0 || runner.hardware.some((one) => wanted.has(one));
  return isNeeded || gone >= MISSED_MS;
}

export const wantedHardware = (
  queues: Pick<QueueState, "hardware" | "waiting">[],
): ReadonlySet<string> =>
  new Set(queues.filter(({ waiting }) => waiting).map(({ hardware }) => hardware));
