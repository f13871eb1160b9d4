/** The silence of runners, which their pools notice before they are shown as offline. */
import type { RunnerState } from "../../protocol/fleet.ts";

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
