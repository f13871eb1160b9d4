/** The filters of the list of deliveries as they stand in the address of its page. */
import type { DeliveryFilter } from "../../domain/webhooks/delivery-row.ts";
import type { WebhookEndpoint } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";

export const DELIVERIES = "/account/webhooks/deliveries";

export const WHICH = [
  ["", "All"],
  ["failed", "Failed"],
  ["delivered", "Delivered"],
] as const;

export interface DeliveryQuery {
  which: (typeof WHICH)[number][0];
  /** The id of an endpoint, or `prediction`; empty: all. */
  to: string;
}

/** Unknown values are ignored: people edit addresses by hand. */
export function readDeliveryQuery(
  { searchParams }: URL,
  endpoints: Pick<WebhookEndpoint, "id">[],
): DeliveryQuery {
  const [which = ""] = WHICH.find(([value]) => value === searchParams.get("which")) ?? [];
  const to = searchParams.get("to") ?? "";
  const isKnown = to === OWN_WEBHOOK || endpoints.some(({ id }) => id === to);
  return { which, to: isKnown ? to : "" };
}

export const filterOf = ({ which, to }: DeliveryQuery): DeliveryFilter => ({
  which: which === "" ? undefined : which,
  endpoint_id: to === OWN_WEBHOOK ? "" : to || undefined,
});

export function deliveriesAddress({ which, to }: DeliveryQuery): string {
  const query = new URLSearchParams({ ...(which && { which }), ...(to && { to }) }).toString();
  return query === "" ? DELIVERIES : `${DELIVERIES}?${query}`;
}
