/** Routes of `/account/webhooks/deliveries`, and of one event. */
import { z } from "zod";
import { notFound } from "../../errors/errors.ts";
import { parseExact } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { readableJson } from "../../lib/text.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { type Json, uuid } from "../../protocol/common.ts";
import { type WebhookEndpoint, webhookEventId } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import { viewPrediction } from "../../services/predictions/prediction-view.ts";
import {
  listAccountDeliveries,
  listFailed,
  MOST_AT_ONCE,
  type Redelivered,
  type Redelivery,
  redeliverMany,
  type ShownEvent,
  showWebhook,
} from "../../services/webhooks/deliveries.ts";
import { listEndpoints, MAX_ENDPOINTS } from "../../services/webhooks/endpoints.ts";
import { requireUser, viewerOf } from "../access.ts";
import { type PageContext, pages, redirectWithFlash } from "../context.ts";
import { fieldText, fieldTexts, readForm } from "../form.ts";
import { Above, ALL_PREDICTIONS, Copy, linkToPrediction, shortId, Time } from "../ui/parts.tsx";
import {
  DELIVERIES,
  DeliveriesPage,
  deliveriesAddress,
  filterOf,
  readDeliveryQuery,
} from "./deliveries-page.tsx";
import { Delivery } from "./delivery.tsx";

/** Input and output have pages of their own. */
const MAX_CHARS = 100_000;

function EventPage({
  id,
  shown: { event, body },
  input,
}: {
  id: string;
  shown: ShownEvent;
  /** The prediction's input for display, with masks; undefined if it is too large or removed. */
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
      <div class="ruled deliveries" data-after-end>
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
        {"The request body, sent with the header "}
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

/** Deliveries per page: as many as can be sent again in one request. */
const PAGE_SIZE = 50;

export const deliveryPages = pages()
  .get(DELIVERIES, requireUser, async (c) => {
    const endpoints = await endpointsOf(c);
    const query = readDeliveryQuery(new URL(c.req.url), endpoints);
    const request = { cursor: c.req.query("cursor"), size: PAGE_SIZE, url: c.req.url };
    const { services } = c.var;
    const page = await listAccountDeliveries(
      services,
      viewerOf(c).caller,
      filterOf(query),
      request,
    );
    return c.render(<DeliveriesPage query={query} page={page} endpoints={endpoints} />, {
      title: "Webhook deliveries",
      scripts: ["predictions"],
    });
  })
  .post(DELIVERIES, requireUser, async (c) => {
    const { services } = c.var;
    const { caller } = viewerOf(c);
    const endpoints = await endpointsOf(c);
    const query = readDeliveryQuery(new URL(c.req.url), endpoints);
    const form = await readForm(c);
    const all = fieldText(form, "all") === "failed";
    const { deliveries: chosen, gone } = all
      ? await listFailed(services, caller, filterOf(query).endpoint_id)
      : { deliveries: readChosen(form), gone: 0 };
    const open = chosen.filter((one) => isOpen(one, endpoints));
    const sent = open.slice(0, MOST_AT_ONCE);
    const count = () => limitRate(c, "predictions", caller.user_id);
    const done = await redeliverMany(services, caller, sent, count);
    const [shut, later] = [chosen.length - open.length, open.length - sent.length];
    const nothing = all ? "No failed deliveries." : "Select the deliveries to redeliver.";
    const total = chosen.length + gone;
    const message =
      total === 0 ? nothing : outcomeOf({ ...done, gone: done.gone + gone }, total, shut, later);
    return redirectWithFlash(c, message, deliveriesAddress(query));
  })
  .get("/predictions/:prediction_id/webhooks/:event_id", requireUser, async (c) => {
    const { prediction_id: id, event_id } = c.req.param();
    if (!webhookEventId.safeParse(event_id).success)
      throw notFound(`The webhook event '${event_id}'`);
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    const [shown, { displayInput }] = await Promise.all([
      showWebhook(services, caller, id, event_id),
      viewPrediction(services, caller, id, origin, { hasLogs: false }),
    ]);
    return c.render(<EventPage id={id} shown={shown} input={displayInput} />, {
      scripts: ["prediction"],
      title: `Webhook: ${shown.event.event} of ${shortId(id)}`,
    });
  });

async function endpointsOf(c: PageContext): Promise<WebhookEndpoint[]> {
  const request = { cursor: undefined, size: MAX_ENDPOINTS, url: c.req.url };
  return (await listEndpoints(c.var.services, viewerOf(c).caller, request)).items;
}

const receiver = z.union([z.literal(OWN_WEBHOOK), uuid]);

/** Values that no form of the dashboard sends are ignored. */
function readChosen(form: FormData): Redelivery[] {
  return fieldTexts(form, "chosen")
    .slice(0, PAGE_SIZE)
    .flatMap((text) => {
      const [event_id = "", to = ""] = text.split(" ");
      const prediction_id = event_id.split("_")[1] ?? "";
      const isKnown = webhookEventId.safeParse(event_id).success && receiver.safeParse(to).success;
      return isKnown
        ? [{ prediction_id, event_id, endpoint_id: to === OWN_WEBHOOK ? null : to }]
        : [];
    });
}

/** A disabled or deleted endpoint gets no delivery. */
const isOpen = ({ endpoint_id }: Redelivery, endpoints: WebhookEndpoint[]) =>
  endpoint_id === null || endpoints.some(({ id, enabled }) => id === endpoint_id && enabled);

/** @param later the number of deliveries that are too many for one request */
function outcomeOf(
  { begun, gone, stopped }: Redelivered,
  chosen: number,
  shut: number,
  later: number,
): string {
  const left = chosen - shut - begun - gone - later;
  return [
    `Redelivering ${begun} of ${chosen}.`,
    ...(shut > 0 ? [`${shut} skipped: endpoint disabled or deleted.`] : []),
    ...(gone > 0 ? [`${gone} skipped: prediction data removed.`] : []),
    ...(stopped !== undefined ? [`${left} not sent: ${stopped}`] : []),
    ...(later > 0 ? [`${later} remaining: select Redeliver all failed again.`] : []),
  ].join(" ");
}
