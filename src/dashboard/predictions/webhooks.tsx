/** The webhook deliveries of a prediction: its events, each with its receivers. */
import type { WebhookEvent } from "../../protocol/webhook.ts";
import { Time } from "../ui/parts.tsx";
import { Delivery } from "../webhooks/delivery.tsx";

export const Webhooks = ({
  predictionId,
  events,
}: {
  predictionId: string;
  events: WebhookEvent[];
}) =>
  events.length === 0 ? null : (
    <>
      <h2>Webhooks</h2>
      <ol class="deliveries">
        {events.map((event) => (
          <li>
            <p>
              <a href={`/predictions/${predictionId}/webhooks/${event.id}`}>{event.event}</a>{" "}
              <Time at={event.created_at} exact />
            </p>
            {event.deliveries.map((delivery) => (
              <Delivery
                delivery={delivery}
                action={`/predictions/${predictionId}/webhooks/${event.id}/redeliver`}
              />
            ))}
          </li>
        ))}
      </ol>
    </>
  );
