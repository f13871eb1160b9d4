/** The endpoints of a seed, with the behaviours of their receiver. */
import fc from "fast-check";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { receiverFault } from "./calls.ts";
import { samples } from "./seeded.ts";

export interface EndpointPlan {
  path: string;
  events: WebhookEventName[];
  /** Whether deliveries go through the cable that breaks. */
  overCable: boolean;
  /** Behaviours of the receiver, one for each delivery; the last one stays. */
  meets: Behaviour[];
}

/** The number of deliveries that may meet a fault; those after them succeed. */
const TROUBLED = 1_000;
const OK: Behaviour = { status: 200 };

const meeting = fc.oneof(
  { weight: 9, arbitrary: fc.constant(OK) },
  { weight: 1, arbitrary: receiverFault },
);

/** Returns two endpoints: one gets all events and breaks; the other gets only ends and does not break. */
export const endpointsOf = (seed: number): EndpointPlan[] => [
  {
    path: "/all",
    events: ["started", "output", "completed"],
    overCable: true,
    meets: [...samples(meeting, seed, TROUBLED), OK],
  },
  { path: "/ends", events: ["completed"], overCable: false, meets: [OK] },
];
