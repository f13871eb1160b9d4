/** `/predictions/:id/webhooks/:event_id`: one event, how each receiver took it, and what is posted. */
import { parseExact } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import type { ShownEvent } from "../../services/webhooks/deliveries.ts";
import { Above, ALL_PREDICTIONS, Copy, linkToPrediction, Time } from "../ui/parts.tsx";
import { Delivery } from "./delivery.tsx";
import { DELIVERIES } from "./delivery-filters.ts";

/** Input and output have pages of their own. */
const MAX_CHARS = 100_000;

export function EventPage({
  id,
  shown: { event, body },
  input,
}: {
  id: string;
  shown: ShownEvent;
  /** For display, with masks; undefined if it is too large or removed. */
  input: Json | undefined;
}) {
  const parsed = parseExact(body);
  const posted = isObject(parsed) ? parsed : {};
  if (posted.input !== null) posted.input = input ?? "Too large to be shown here";
  const text = readableJson(posted);
  return (
    <>
      <Above places={[ALL_PREDICTIONS, linkToPrediction(id)]} />
      <h1>{`Webhook: ${event.event}`}</h1>
      <p class="hint">
        <Time at={event.created_at} exact />
        {" · "}
        <a href={DELIVERIES}>All deliveries</a>
      </p>
      <div class="deliveries" data-after-end>
        {event.deliveries.map((delivery) => (
          <Delivery
            delivery={delivery}
            action={`/predictions/${id}/webhooks/${event.id}/redeliver`}
            isOnOwnPage
          />
        ))}
      </div>
      <h2>Body</h2>
      <p class="hint">
        {"What is posted, with the header "}
        <code>{`webhook-id: ${event.id}`}</code>. Secret inputs are masked on this page only.
      </p>
      {text.length <= MAX_CHARS ? (
        <Copy text={text} lines />
      ) : (
        <>
          <pre tabindex={0}>
            <code>{text.slice(0, MAX_CHARS)}</code>
          </pre>
          <p class="hint">{`The first ${MAX_CHARS} of ${text.length} characters.`}</p>
        </>
      )}
    </>
  );
}
