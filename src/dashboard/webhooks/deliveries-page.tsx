/** `/account/webhooks/deliveries`: the deliveries of all predictions, and sending many again. */

import type { DeliveryFilter } from "../../domain/webhooks/delivery-row.ts";
import type { WebhookEndpoint } from "../../protocol/webhook.ts";
import { OWN_WEBHOOK } from "../../routes/webhooks/deliveries.ts";
import type { Page } from "../../services/pagination.ts";
import { type AccountDelivery, MOST_AT_ONCE } from "../../services/webhooks/deliveries.ts";
import { Submit } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { Above, Empty, IdCell, Pager, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { DeliveryBadge } from "./delivery.tsx";
import { LIST, WebhookUrl } from "./endpoints.tsx";

export interface DeliveriesPageProps {
  query: DeliveryQuery;
  page: Page<AccountDelivery>;
  endpoints: WebhookEndpoint[];
}

export const DeliveriesPage = ({ query, page, endpoints }: DeliveriesPageProps) => (
  <>
    <h1>Webhook deliveries</h1>
    <Above places={[[LIST, "Webhooks"]]} />
    <p class="hint">
      The 500 most recent successful and failed deliveries. <code>output</code> events appear only
      if they failed.
    </p>
    <Filters query={query} endpoints={endpoints} />
    <div data-list data-first={page.previous_url === null ? "true" : undefined}>
      {page.items.length === 0 ? (
        <NoDeliveries query={query} />
      ) : (
        <Chosen query={query} page={page} endpoints={endpoints} />
      )}
      <Pager previous={page.previous_url} next={page.next_url} />
    </div>
  </>
);

const Filters = ({ query, endpoints }: Omit<DeliveriesPageProps, "page">) => (
  <form method="get" action={DELIVERIES} class="bar filters" data-filters>
    <fieldset class="bar">
      <legend class="visually-hidden">State</legend>
      {WHICH.map(([value, label]) => (
        <label class="choice">
          <input type="radio" name="which" value={value} checked={query.which === value} />
          {label}
        </label>
      ))}
    </fieldset>
    <label>
      <span class="visually-hidden">Receiver</span>
      <select name="to">
        <option value="">All receivers</option>
        {endpoints.map(({ id, url }) => (
          <option value={id} selected={query.to === id}>
            {url}
          </option>
        ))}
        <option value={OWN_WEBHOOK} selected={query.to === OWN_WEBHOOK}>
          Prediction webhooks
        </option>
      </select>
    </label>
    <Submit kind="quiet">Filter</Submit>
  </form>
);

const CHOOSE_ALL = "Select all";

const Chosen = ({ query, page, endpoints }: DeliveriesPageProps) => (
  <Form action={deliveriesAddress(query)}>
    <label class="choice choose-all" data-label={CHOOSE_ALL} data-choose-all hidden>
      <input type="checkbox" aria-label={CHOOSE_ALL} autocomplete="off" />
    </label>
    <Table
      class="stacked linked deliveries-table"
      columns={[
        { name: "Select", is: "hidden" },
        "Event",
        "State",
        "Receiver",
        "Model",
        "Sent",
        "Prediction ID",
      ]}
    >
      {page.items.map((one) => (
        <Row delivery={one} endpoints={endpoints} />
      ))}
    </Table>
    <p class="flow actions">
      <Submit kind="quiet">Redeliver selected</Submit>
      {query.which !== "delivered" && (
        <button type="submit" name="all" value="failed" class="quiet">
          Redeliver all failed
        </button>
      )}
      <span class="hint">
        Redelivery sends the same event with the same ID.
        {query.which !== "delivered" &&
          ` Redeliver all failed covers all pages, up to ${MOST_AT_ONCE} at a time.`}
      </span>
    </p>
  </Form>
);

function Row({ delivery, endpoints }: { delivery: AccountDelivery; endpoints: WebhookEndpoint[] }) {
  const { prediction_id, event_id, event, at, model, endpoint_id, error, attempts } = delivery;
  const page = `/predictions/${prediction_id}/webhooks/${event_id}`;
  const id = `${event_id} ${endpoint_id ?? OWN_WEBHOOK}`;
  const isAbandoned =
    delivery.state === "pending" &&
    endpoint_id !== null &&
    !endpoints.some((one) => one.id === endpoint_id);
  return (
    <tr data-row={id}>
      <td>
        <input
          type="checkbox"
          name="chosen"
          value={id}
          aria-label={`Select ${event} of ${prediction_id}`}
        />
      </td>
      <th scope="row" data-label="Event">
        <a href={page}>{event}</a>
      </th>
      <td data-label="State">
        <DeliveryBadge
          state={delivery.state}
          isAbandoned={isAbandoned}
          isFailing={error !== null}
        />
        {!isAbandoned && <Outcome delivery={delivery} />}
        {attempts > 1 && <small>{`${attempts} attempts`}</small>}
      </td>
      <td data-label="Receiver">
        <Receiver delivery={delivery} endpoints={endpoints} />
      </td>
      <td data-label="Model">{model !== null && <bdi>{model}</bdi>}</td>
      <td data-label="Sent">
        <Time at={at} />
      </td>
      <IdCell id={prediction_id} />
    </tr>
  );
}

function Outcome({ delivery: { state, status, error, next_at } }: { delivery: AccountDelivery }) {
  if (error === null) return status === null ? null : <small>{String(status)}</small>;
  if (state === "delivered" || state === "superseded") return null;
  return (
    <small class="error-excerpt">
      <bdi>{error}</bdi>.
      {next_at !== null && (
        <>
          {" Next attempt "}
          <Time at={next_at} />.
        </>
      )}
    </small>
  );
}

function Receiver({
  delivery: { endpoint_id, url },
  endpoints,
}: {
  delivery: AccountDelivery;
  endpoints: WebhookEndpoint[];
}) {
  if (endpoint_id === null)
    return url === null ? <>Prediction webhook</> : <WebhookUrl url={url} />;
  const endpoint = endpoints.find(({ id }) => id === endpoint_id);
  if (!endpoint) return <>Deleted endpoint</>;
  return (
    <a href={`${LIST}/${endpoint_id}`}>
      <WebhookUrl url={endpoint.url} />
    </a>
  );
}

const NoDeliveries = ({ query: { which, to } }: { query: DeliveryQuery }) =>
  which !== "" || to !== "" ? (
    <Empty title="No deliveries match these filters">
      <p>
        <a href={DELIVERIES}>Show all deliveries</a>
      </p>
    </Empty>
  ) : (
    <Empty title="No deliveries yet">
      <p>
        Create an endpoint, or pass <code>webhook</code> with a prediction.
      </p>
      <p class="flow actions">
        <a class="button primary" href={LIST}>
          Webhook endpoints
        </a>
      </p>
    </Empty>
  );

export const DELIVERIES = "/account/webhooks/deliveries";

const WHICH = [
  ["", "All"],
  ["failed", "Failed"],
  ["delivered", "Delivered"],
] as const;

interface DeliveryQuery {
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
