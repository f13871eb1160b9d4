/** The webhook deliveries of a prediction: events, receivers, attempts and redelivery. */
import type { DeliveryAttempt, WebhookDelivery, WebhookEvent } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";

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
              <strong>{event.event}</strong> <Time at={event.created_at} />
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

const Delivery = ({ delivery, action }: { delivery: WebhookDelivery; action: string }) => {
  const { endpoint_id, url, state, next_attempt_at, attempts } = delivery;
  return (
    <div class="delivery" data-pending={state === "pending" ? "true" : undefined}>
      <p>
        {url ?? "Deleted endpoint"} <Badge state={state} last={attempts.at(-1)} />
      </p>
      {attempts.length > 0 && (
        <details>
          <summary>{summary(attempts)}</summary>
          <ol>
            {attempts.map((attempt) => (
              <li>
                <Time at={attempt.at} />
                {`: ${outcome(attempt)}`}
              </li>
            ))}
          </ol>
        </details>
      )}
      {next_attempt_at !== null && (
        <p class="hint">
          {"Next attempt "}
          <Time at={next_attempt_at} />
        </p>
      )}
      {url !== null && (
        <Form action={action}>
          <input type="hidden" name="receiver" value={endpoint_id ?? OWN_WEBHOOK} />
          <button type="submit" class="quiet">
            Redeliver
          </button>
        </Form>
      )}
    </div>
  );
};

const BADGES: Record<WebhookDelivery["state"], string> = {
  pending: "started",
  delivered: "succeeded",
  failed: "failed",
  superseded: "canceled",
};

/** One that has failed and is tried again is not just pending. */
const Badge = ({
  state,
  last,
}: {
  state: WebhookDelivery["state"];
  last?: DeliveryAttempt | undefined;
}) =>
  state === "pending" && last && last.error !== null ? (
    <span class="status failed">retrying</span>
  ) : (
    <span class={`status ${BADGES[state]}`}>{state}</span>
  );

function summary(attempts: DeliveryAttempt[]): string {
  const count = attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;
  const last = attempts.findLast(({ duration_ms }) => duration_ms !== null);
  return last ? `${count}, last: ${last.status ?? "no response"}` : count;
}

function outcome({ status, duration_ms, error }: DeliveryAttempt): string {
  if (duration_ms === null) return "in progress";
  const answer = status === null ? "no response" : `${status}`;
  return `${answer} after ${duration_ms} ms${error === null ? "" : `. ${error}`}`;
}
