/** The state of a delivery as a word with its shape. */
import type { DeliveryState } from "../../protocol/webhook.ts";

const BADGES: Record<DeliveryState, string> = {
  pending: "started",
  delivered: "succeeded",
  failed: "failed",
  superseded: "canceled",
};

/** A delivery that has failed and is tried again is shown as failing, not as pending. */
export const DeliveryBadge = ({
  state,
  isAbandoned,
  isFailing,
}: {
  state: DeliveryState;
  /** Whether the delivery is not sent any more, since its endpoint was deleted. */
  isAbandoned: boolean;
  /** Whether the last try of the delivery has failed. */
  isFailing: boolean;
}) =>
  isAbandoned ? (
    <span class="status canceled">abandoned</span>
  ) : state === "pending" && isFailing ? (
    <span class="status failed">retrying</span>
  ) : (
    <span class={`status ${BADGES[state]}`}>{state}</span>
  );
