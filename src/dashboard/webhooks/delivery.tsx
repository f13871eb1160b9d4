/** The delivery of an event to one receiver: its state, its tries and a button to send it again. */
import type { DeliveryAttempt, DeliveryState, WebhookDelivery } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Time } from "../ui/parts.tsx";
import { LIST, WebhookUrl } from "./endpoints.tsx";

export const Delivery = ({
  delivery,
  action,
  isOnOwnPage = false,
}: {
  delivery: WebhookDelivery;
  action: string;
  /** Shows each try at once, and stays there. */
  isOnOwnPage?: boolean;
}) => {
  const { endpoint_id, url, state, next_attempt_at, attempts } = delivery;
  const isAbandoned = state === "pending" && url === null;
  return (
    <div class="delivery" data-pending={state === "pending" && !isAbandoned ? "true" : undefined}>
      <p>
        {endpoint_id !== null && url !== null ? (
          <a href={`${LIST}/${endpoint_id}`}>
            <WebhookUrl url={url} />
          </a>
        ) : url === null ? (
          "Deleted endpoint"
        ) : (
          <WebhookUrl url={url} />
        )}{" "}
        <DeliveryBadge
          state={state}
          isAbandoned={isAbandoned}
          isFailing={(attempts.at(-1)?.error ?? null) !== null}
        />
      </p>
      {!isAbandoned && <Failing delivery={delivery} />}
      {attempts.length > 0 && (
        <details open={isOnOwnPage}>
          <summary>{summary(attempts)}</summary>
          <ol>
            {attempts.map((attempt) => (
              <li>
                <Time at={attempt.at} exact />
                {`: ${outcome(attempt)}`}
                <Response text={attempt.response} />
              </li>
            ))}
          </ol>
        </details>
      )}
      {!isAbandoned && next_attempt_at !== null && attempts.length === 0 && (
        <p class="hint">
          {"First attempt "}
          <Time at={next_attempt_at} exact />
        </p>
      )}
      {url !== null && (
        <Form action={action}>
          <input type="hidden" name="receiver" value={endpoint_id ?? OWN_WEBHOOK} />
          {isOnOwnPage && <input type="hidden" name="back" value="event" />}
          <Submit kind="quiet">Redeliver</Submit>
        </Form>
      )}
    </div>
  );
};

/** The response of the receiver, which is not trusted. */
const Response = ({ text }: { text: string | null }) =>
  text === null ? null : (
    <pre class="response" tabindex={0}>
      <bdi>{text}</bdi>
    </pre>
  );

/** The codes of the failed tries since the last success, and the time of the next try. */
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
      {`${state === "failed" ? "Failed" : "Failing"}, ${codes(failures)}: `}
      <bdi>{last.error}</bdi>.
      {next_attempt_at !== null && (
        <>
          {" Next attempt "}
          <Time at={next_attempt_at} />.
        </>
      )}
      {state === "failed" && " It will not be retried."}
    </p>
  );
}

function summary(attempts: DeliveryAttempt[]): string {
  const count = attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`;
  const last = attempts.findLast(({ duration_ms }) => duration_ms !== null);
  return last ? `${count}, last: ${last.status ?? "no response"}` : count;
}

function outcome({ status, duration_ms, error }: DeliveryAttempt): string {
  if (duration_ms === null) return "in progress";
  const answer = status === null ? "no response" : `${status}`;
  return `${answer} after ${duration_ms} ms${error === null ? "" : `: ${error}`}`;
}

/** Returns the attempts that have failed since the last success. */
export function failuresOf(attempts: DeliveryAttempt[]): DeliveryAttempt[] {
  const lastGood = attempts.findLastIndex(
    ({ duration_ms, error }) => duration_ms !== null && error === null,
  );
  return attempts.slice(lastGood + 1).filter(({ error }) => error !== null);
}

const TIMES = ["", "", " twice", " three times"];

/** `500 three times, no response`: in order, with those alike together. */
export function codes(failures: Pick<DeliveryAttempt, "status">[]): string {
  const runs: { code: string; times: number }[] = [];
  for (const { status } of failures) {
    const code = status === null ? "no response" : `${status}`;
    const last = runs.at(-1);
    if (last?.code === code) last.times += 1;
    else runs.push({ code, times: 1 });
  }
  return runs.map(({ code, times }) => code + (TIMES[times] ?? ` ${times} times`)).join(", ");
}

const BADGES: Record<DeliveryState, string> = {
  pending: "started",
  delivered: "succeeded",
  failed: "failed",
  superseded: "canceled",
};

/** A delivery that has failed is a warning while it is retried, not an error. */
export const DeliveryBadge = ({
  state,
  isAbandoned,
  isFailing,
}: {
  state: DeliveryState;
  /** Whether the delivery is not sent any more, since its endpoint was deleted. */
  isAbandoned: boolean;
  isFailing: boolean;
}) =>
  isAbandoned ? (
    <span class="status canceled">abandoned</span>
  ) : state === "pending" && isFailing ? (
    <span class="status warning">retrying</span>
  ) : (
    <span class={`status ${BADGES[state]}`}>{state}</span>
  );
