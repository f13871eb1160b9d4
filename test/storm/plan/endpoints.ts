/** What a seed has the endpoints of an account meet. */
import fc from "fast-check";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { receiverFault } from "./calls.ts";
import { samples } from "./seeded.ts";

export interface EndpointPlan {
  path: string;
  events: WebhookEventName[];
  /** Through the cable that breaks, too. */
  overCable: boolean;
  /** What deliveries meet, one after the other; the last stays. */
  meets: Behaviour[];
}

/** So many deliveries meet something that may break; those after them succeed. */
const TROUBLED = 1_000;
const OK: Behaviour = { status: 200 };

const meeting = fc.oneof(
  { weight: 9, arbitrary: fc.constant(OK) },
  { weight: 1, arbitrary: receiverFault },
);

/** One is told all, and breaks; the other only of ends, and does not. */
export const endpointsOf = (seed: number): EndpointPlan[] => [
  {
    path: "/all",
    events: ["started", "output", "completed"],
    overCable: true,
    meets: [...samples(meeting, seed, TROUBLED), OK],
  },
  { path: "/ends", events: ["completed"], overCable: false, meets: [OK] },
];
