/** Runners that were lost are shown as ready until they miss three reports: their pool notices sooner. */
import type { RunnerState } from "../../protocol/fleet.ts";

/** So long nothing is said: a connection may break, and be made again. */
const UNNOTICED_MS = 10_000;

/** One that drains, or that its pool has given up, is heard by its reports alone: every 30 s, with 15 s to spare. */
const UNTOLD_MS = 45_000;

/** Missed reports after which a runner is shown as offline. */
const OFFLINE_REPORTS = 3;

/** How long a runner may be silent before it is. */
export const offlineMs = (telemetrySeconds: number) => OFFLINE_REPORTS * telemetrySeconds * 1_000;

/** It is not there. */
export const isOffline = ({ state }: Pick<RunnerState, "state">): boolean =>
  state === "offline" || state === "stopped";

type Heard = Pick<RunnerState, "state" | "draining" | "connected" | "last_seen_at">;

/** How long nothing was heard of a runner that should be heard; undefined for one that is, or is gone. */
export function silenceOf(runner: Heard, now: number): number | undefined {
  const { state, draining, connected, last_seen_at } = runner;
  if (state !== "ready" && state !== "draining") return undefined;
  if (connected === true || last_seen_at === null) return undefined;
  const ms = now - Date.parse(last_seen_at);
  const isMissed = state === "ready" && !draining && connected === false;
  return ms < (isMissed ? UNNOTICED_MS : UNTOLD_MS) ? undefined : ms;
}

/** Whether what it says of itself is true of now, as far as anybody can know. */
export const isHeard = (runner: Heard, now: number): boolean =>
  !isOffline(runner) && silenceOf(runner, now) === undefined;
