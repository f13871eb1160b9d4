/** `/fleet/runners/:id`: the page of a runner. */
import type { Child } from "hono/jsx";
import { isOffline, isResponding } from "../../domain/runners/silence.ts";
import type { RunnerDetail, RunnerWork } from "../../protocol/fleet.ts";
import type { RunnerEvent } from "../../protocol/runner-log.ts";
import { Above, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { Containers } from "./containers.tsx";
import { type Day, Devices, RunHistory } from "./devices.tsx";
import { LogSection } from "./log-page.tsx";
import {
  Actions,
  type FleetContext,
  Gauges,
  Prediction,
  RunnerDetails,
  SetAside,
  State,
  Update,
} from "./runner.tsx";
import { sinceText } from "./status-text.ts";

/** client/fleet.ts updates each element with `data-part` on its own. */
export const RunnerPage = ({
  runner,
  day,
  events,
  linked,
  wanted,
  view,
}: {
  runner: RunnerDetail;
  day: Day;
  events: RunnerEvent[] | undefined;
  /** `owner/name` of the models whose pages the viewer may open. */
  linked: ReadonlySet<string>;
  /** The hardware that predictions wait for. */
  wanted: ReadonlySet<string>;
  view: FleetContext & { own: ReadonlySet<string> };
}) => {
  const { reported } = runner;
  const heard = isResponding(runner, view.now);
  return (
    <div data-fleet class="runner-page">
      <Above places={[["/fleet", "Fleet"]]} />
      <div class="bar runner-head" data-part="head">
        <h1>
          <bdi>{runner.name}</bdi>
        </h1>
        <State runner={runner} wanted={wanted} now={view.now} />
        <Actions runner={runner} />
      </div>
      <div data-part="facts">
        <p class="hint">
          Serves {runner.hardware.join(", ")} · <RunnerDetails runner={runner} view={view} />
        </p>
        <SetAside runner={runner} />
      </div>
      {runner.outdated && <Update runner={runner} view={view} />}
      <div data-part="gauges">
        {heard && (
          <dl class="cards gauges">
            <Gauges runner={runner} />
          </dl>
        )}
      </div>
      <div data-part="history">
        <RunHistory day={day} slots={runner.slots} />
      </div>
      {reported !== null && (
        <p class="hint" data-part="age">
          Last reported <Time at={reported.at} exact />
          {heard ? "." : ". The data below may be out of date."}
        </p>
      )}
      <div data-part="reported">
        {reported === null ? (
          <Unknown runner={runner} />
        ) : (
          <>
            <Devices reported={reported} load={heard ? runner.load : null} day={day} />
            <Containers
              reported={reported}
              linked={linked}
              heard={heard}
              now={heard ? view.now : Date.parse(reported.at)}
            />
          </>
        )}
      </div>
      <div data-part="work">
        <Work work={runner.work} own={view.own} heard={heard} now={view.now} />
      </div>
      <Events events={events} />
      <div data-part="log">
        <LogSection runner={runner} heard={heard} />
      </div>
    </div>
  );
};

const Unknown = ({ runner }: { runner: RunnerDetail }) => (
  <section aria-labelledby="reported-title">
    <h2 id="reported-title">GPUs and containers</h2>
    <p class="hint">{whyUnknown(runner)}</p>
  </section>
);

function whyUnknown(runner: RunnerDetail): string {
  if (isOffline(runner)) return "Unavailable while the runner is offline.";
  if (runner.state === "draining") return "Unavailable while the runner is draining.";
  return `Unavailable: no report from the runner, or the pool ${runner.pool} did not respond. Reload the page.`;
}

/** The most predictions that are shown; a runner can have a thousand. */
const MAX_SHOWN = 50;

const sinceTitle = (heard: boolean) => (heard ? "Since" : "Assigned");

const Work = ({
  work,
  own,
  heard,
  now,
}: {
  work: RunnerWork[];
  own: ReadonlySet<string>;
  /** Whether the runner is online; otherwise it had the predictions when it last was. */
  heard: boolean;
  now: number;
}) => (
  <section aria-labelledby="work-title">
    <h2 id="work-title">Predictions</h2>
    {!heard && work.length > 0 && (
      <p class="hint">
        As last reported. These may have finished, or been retried on another runner.
      </p>
    )}
    {work.length === 0 ? (
      <p class="hint">{heard ? "No active predictions." : "In-flight work was requeued."}</p>
    ) : (
      <Table class="stacked" columns={["Prediction", "Account", "Version", sinceTitle(heard)]}>
        {work.slice(0, MAX_SHOWN).map(({ prediction_id, username, version, since }) => (
          <tr>
            <th scope="row">
              <Prediction
                id={prediction_id}
                own={own.has(prediction_id)}
                username={username ?? undefined}
              />
            </th>
            <td data-label="Account">
              {username === null ? "unknown" : <a href={`/users/${username}`}>{username}</a>}
            </td>
            <td data-label="Version">{version ?? "unknown"}</td>
            <td data-label={sinceTitle(heard)}>
              {since === null ? (
                "unknown"
              ) : heard ? (
                sinceText(since, now)
              ) : (
                <Time at={since} exact />
              )}
            </td>
          </tr>
        ))}
      </Table>
    )}
    {work.length > MAX_SHOWN && <p class="hint">And {work.length - MAX_SHOWN} more.</p>}
  </section>
);

/** The others are folded away. */
const SHOWN = 12;

/** @param events undefined: the runner object did not answer */
const Events = ({ events }: { events: RunnerEvent[] | undefined }) => (
  <section aria-labelledby="events-title">
    <div data-part="events">
      <h2 id="events-title">Events</h2>
      {events === undefined && <p class="hint">Events could not be loaded. Reload the page.</p>}
      {events?.length === 0 && (
        <p class="hint">No events yet. Starts, stops, drains, and lost GPUs appear here.</p>
      )}
      <List events={events?.slice(0, SHOWN) ?? []} />
    </div>
    {events && events.length > SHOWN && (
      // Around its part: one that lies in a part is closed when that is replaced.
      <details data-key="events">
        <summary>
          <span data-part="earlier count">{events.length - SHOWN} earlier events</span>
        </summary>
        <div data-part="earlier events">
          <List events={events.slice(SHOWN)} />
        </div>
      </details>
    )}
  </section>
);

const List = ({ events }: { events: RunnerEvent[] }) =>
  events.length === 0 ? null : (
    <ol class="ruled pairs">
      {events.map((event) => (
        <li>
          <Time at={event.at} exact />
          <span class={BAD.includes(event.kind) ? "bad" : undefined}>
            <Words event={event} />
          </span>
        </li>
      ))}
    </ol>
  );

const BAD: RunnerEvent["kind"][] = [
  "lost",
  "silent",
  "fell_silent",
  "set_aside",
  "token_revoked",
  "gpu_lost",
];

/** Parts of the words of an event: its detail, who did it, and when. */
interface EventParts {
  what: Child;
  who: Child;
  when: Child;
  by: string | null;
}

const WORDS: Record<RunnerEvent["kind"], (parts: EventParts) => Child> = {
  started: ({ what }) => <>Started, version {what}</>,
  stopping: () => "Stopping: finishing its predictions",
  stopped: () => "Stopped",
  drained: ({ who }) => <>Drained by {who}</>,
  resumed: ({ who }) => <>Resumed by {who}</>,
  lost: ({ when }) => <>Previous process lost. Last seen {when}</>,
  silent: ({ when }) => <>Reconnected. Offline since {when}</>,
  fell_silent: () => "Lost connection",
  set_aside: ({ what, when }) => (
    <>
      Paused until {when}: {what ?? "it accepted predictions but did not start them"}
    </>
  ),
  forgiven: ({ who }) => <>Resumed by {who} while it was paused</>,
  token_revoked: ({ who, by }) => <>Token revoked{by !== null && <> by {who}</>}</>,
  gpu_lost: ({ what }) => <>Lost GPU {what}</>,
  gpu_back: ({ what }) => <>GPU {what} is back</>,
  container_started: ({ what }) => <>Container started: {what}</>,
  container_stopped: ({ what }) => <>Container stopped: {what}</>,
};

const Words = ({ event: { kind, detail, time, by } }: { event: RunnerEvent }) =>
  WORDS[kind]({
    what: detail && <bdi>{detail}</bdi>,
    who: by === null ? "an operator" : <bdi>{by}</bdi>,
    when: time !== null && <Time at={time} exact />,
    by,
  });
