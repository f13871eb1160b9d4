/** The page of alerts. */
import type { AlertView } from "../../protocol/alert.ts";
import { duration } from "../ui/duration.ts";
import { Form } from "../ui/layout.tsx";
import { Copy, Empty, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { FleetTabs } from "../ui/tabs.tsx";

/** How long an alert can be silenced, in hours. */
export const SILENCES = [
  [1, "1 hour"],
  [24, "1 day"],
  [168, "7 days"],
] as const;

interface Receiver {
  /** The format of messages. Undefined: none are sent. */
  format: string | undefined;
  /** The secret that signs messages of the format `webhook`. */
  secret: string | undefined;
}

interface Props {
  alerts: AlertView[];
  receiver: Receiver;
  now: number;
}

export const AlertsPage = ({ alerts, receiver, now }: Props) => {
  const holding = alerts.filter(({ ended_at }) => ended_at === null);
  const ended = alerts.filter(({ ended_at }) => ended_at !== null);
  return (
    <>
      <FleetTabs current="/alerts" />
      {holding.length === 0 ? (
        <Empty title="No alerts">
          <p>Auspex checks every two minutes. What needs you appears here.</p>
        </Empty>
      ) : (
        <section class="alerts" aria-label="Alerts that hold">
          <ul class="cards">
            {holding.map((alert) => (
              <Holding alert={alert} now={now} />
            ))}
          </ul>
        </section>
      )}
      <Messages receiver={receiver} />
      <p class="hint">
        Others see titles and times on the <a href="/status">status page</a>, if it is{" "}
        <a href="/docs/monitoring#status-page">public</a>.
      </p>
      {ended.length > 0 && <History alerts={ended} />}
    </>
  );
};

/** The path of an address, which has the origin of ALERT_ORIGIN or none. */
function pathOf(address: string): string {
  const { pathname, search, hash } = new URL(address, "https://auspex");
  return pathname + search + hash;
}

const Holding = ({ alert, now }: { alert: AlertView; now: number }) => {
  const { id, severity, title, name, text, todo, url, since, error } = alert;
  const isBad = severity === "critical";
  const isSilenced = alert.silenced_until !== null && Date.parse(alert.silenced_until) > now;
  return (
    <li class={isBad ? "box bad-card" : "box"}>
      <span class={`status ${isBad ? "failed" : "warning"}`}>{title}</span> <bdi>{name}</bdi>{" "}
      <small>
        since <Time at={since} />
      </small>
      <p>
        When it began: {text} <a href={pathOf(url)}>{todo}</a>
      </p>
      {error !== null && <p class="hint">The last message was not sent: {error}.</p>}
      {isSilenced && alert.silenced_until !== null && (
        <p class="hint">
          Silenced by {alert.silenced_by ?? "somebody with OPERATOR_TOKEN"}. The silence ends{" "}
          <Time at={alert.silenced_until} />.
        </p>
      )}
      <Form action={`/alerts/${id}/silence`} class="flow actions">
        {isSilenced ? (
          <button type="submit" name="hours" value="0" class="quiet">
            End silence
          </button>
        ) : (
          SILENCES.map(([hours, length]) => (
            <button
              type="submit"
              name="hours"
              value={String(hours)}
              class="quiet"
              aria-label={`Silence ${title} ${name} for ${length}`}
            >
              Silence for {length}
            </button>
          ))
        )}
      </Form>
    </li>
  );
};

const Messages = ({ receiver: { format, secret } }: { receiver: Receiver }) => (
  <section aria-labelledby="messages-title">
    <h2 id="messages-title">Messages</h2>
    {format === undefined ? (
      <p class="hint">
        No messages are sent. <a href="/docs/monitoring#send-messages">Set ALERT_URL</a> to send
        them to Slack, Discord, PagerDuty or a webhook.
      </p>
    ) : (
      <p class="hint">
        Messages are sent in the format {format}.{" "}
        <a href="/docs/monitoring#send-messages">Change the receiver</a>.
      </p>
    )}
    {format === "webhook" && secret !== undefined && (
      <details>
        <summary>Show the signing secret</summary>
        <Copy text={secret} label="Copy secret" />
      </details>
    )}
  </section>
);

const History = ({ alerts }: { alerts: AlertView[] }) => (
  <section aria-labelledby="history-title">
    <h2 id="history-title">History</h2>
    <div class="scroll">
      <Table
        class="stacked"
        aria-labelledby="history-title"
        columns={["Alert", "About", "What was seen", "Began", { name: "Lasted", is: "number" }]}
      >
        {alerts.map(({ title, name, text, since, ended_at }) => (
          <tr>
            <th scope="row">{title}</th>
            <td data-label="About">
              <bdi>{name || "The deployment"}</bdi>
            </td>
            <td data-label="What was seen">{text}</td>
            <td data-label="Began">
              <Time at={since} />
            </td>
            <td class="number" data-label="Lasted">
              {duration((Date.parse(ended_at ?? since) - Date.parse(since)) / 1_000)}
            </td>
          </tr>
        ))}
      </Table>
    </div>
  </section>
);
