/** The webhook deliveries of a prediction: events, receivers, attempts and redelivery. */
import type { DeliveryAttempt, WebhookDelivery, WebhookEvent } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";
import { codes, failuresOf } from "../webhooks/codes.ts";

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
        {endpoint_id !== null && url !== null ? (
          <a href={`/account/webhooks/${endpoint_id}`}>{url}</a>
        ) : (
          (url ?? "Deleted endpoint")
        )}{" "}
        <Badge state={state} last={attempts.at(-1)} />
      </p>
      <Failing delivery={delivery} />
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
      {next_attempt_at !== null && attempts.length === 0 && (
        <p class="hint">
          {"First attempt "}
          <Time at={next_attempt_at} exact />
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

/** What is wrong, in the open: the codes of the tries since it last worked, and when the next one is. */
function Failing({
  delivery: { state, next_attempt_at, attempts },
}: {
  delivery: WebhookDelivery;
}) {
  const failures = failuresOf(attempts);
  const [last] = failures.slice(-1);
  if (!last || state === "delivered" || state === "superseded") return null;
  return (
    <p class="trouble">
      {`${state === "failed" ? "Failed" : "Failing"}: ${codes(failures)}. ${last.error}.`}
      {next_attempt_at !== null && (
        <>
          {" Next try at "}
          <Time at={next_attempt_at} exact />.
        </>
      )}
      {state === "failed" && " It is not tried again."}
    </p>
  );
}

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
