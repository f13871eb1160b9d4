/** Reads the events of a prediction that carry its status. */
import type { Json } from "../../../protocol/common.ts";

/** Announces why an attempt ended without a result. */
export function endedAttemptText(data: Json): string | undefined {
  if (fieldOf(data, "lost") !== undefined) return "The runner was lost. Waiting for another.";
  if (fieldOf(data, "returned") !== undefined)
    return "The runner returned the prediction. Waiting for another.";
  return undefined;
}

export const fieldOf = (data: Json, name: string): unknown =>
  typeof data === "object" && data !== null
    ? Object.getOwnPropertyDescriptor(data, name)?.value
    : undefined;
