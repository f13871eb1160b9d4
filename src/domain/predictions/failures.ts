/** Why an attempt fails its prediction: the error of its run, or the end of the retries. */
import type { Finish } from "../../protocol/channel.ts";
import type { PredictionSpec, PredictionState } from "./state.ts";

/** Attempts that may be lost after they had started, before the prediction fails. */
export const MAX_LOST_ATTEMPTS = 3;

/** Times that the prediction may be handed back: a fleet that restarts box by box may do so several times. */
export const MAX_RELEASES = 10;

/** Starts that machines may fail: a version on which every machine fails must not be retried without end. */
export const MAX_FAILED_STARTS = 10;

const CUT_OFF =
  "The service lost the call to the remote host, which may have run it. It is not sent again, because `configuration.remote.repeatable` of the version is not set.";

/** Returns the error of a run; undefined for one that has succeeded. */
export function failureOf({ status, error }: Finish): NonNullable<Finish["error"]> | undefined {
  if (status === "succeeded") return undefined;
  const source = "internal" as const;
  // A runner that stops a run that nobody canceled has failed it.
  if (status === "canceled")
    return { source, message: "The runner stopped the prediction without a cancel request." };
  return error ?? { source, message: "The runner reported a failure without a reason." };
}

/** How an attempt has ended without a result. `produced`: some of its output was visible. */
export type EndWithoutResult =
  | { kind: "returned" | "lost"; produced: boolean }
  | { kind: "failed start"; produced: boolean; reason: string };

/**
 * Returns why the prediction is not tried again; undefined: it is.
 * @param state counts the attempt that has ended
 */
export function retryRefusal(
  end: EndWithoutResult,
  { remote }: PredictionSpec,
  { attempt, lost_count, release_count, failed_on }: PredictionState,
): string | undefined {
  const { kind, produced } = end;
  if (kind === "returned") {
    if (produced) return "The runner returned the prediction after output had started.";
    if (release_count >= MAX_RELEASES)
      return `${MAX_RELEASES} runners in a row returned the prediction.`;
  } else if (kind === "failed start") {
    if (produced) return end.reason;
    if (failed_on.length >= MAX_FAILED_STARTS)
      return `${MAX_FAILED_STARTS} container starts failed because of runners' machines. Last error: ${end.reason}`;
  } else {
    const who = remote ? "The call to the remote host" : "The runner";
    if (produced) return `${who} was lost after output had started.`;
    // The request is sent once the attempt is stored as ready.
    if (remote && !remote.repeatable && attempt && attempt.ready_at !== null) return CUT_OFF;
    if (lost_count >= MAX_LOST_ATTEMPTS) return `${MAX_LOST_ATTEMPTS} runners in a row were lost.`;
  }
}
