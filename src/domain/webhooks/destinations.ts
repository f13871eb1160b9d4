/** The destinations of a prediction's webhooks. */
import { DEFAULT_EVENTS } from "../../protocol/webhook.ts";
import type { PredictionSpec } from "../predictions/state.ts";
import type { Destination } from "./outbox.ts";

export function destinationsOf({ webhook, endpoints }: PredictionSpec): Destination[] {
  const own = webhook && { endpoint_id: null, events: webhook.events ?? DEFAULT_EVENTS };
  const others = endpoints.map(({ id, events }) => ({ endpoint_id: id, events }));
  return own ? [own, ...others] : others;
}
