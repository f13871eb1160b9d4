/** What has become of a runner, newest first. */
import type { RunnerEvent } from "../../protocol/runner-log.ts";
import { Time } from "../ui/parts.tsx";

/** The others are folded away. */
const SHOWN = 12;

/** @param events undefined: its object did not answer */
export const Events = ({ events }: { events: RunnerEvent[] | undefined }) => (
  <section aria-labelledby="events-title">
    <div data-part="events">
      <h2 id="events-title">Events</h2>
      {events === undefined && <p class="hint">Unknown at the moment. Load the page again.</p>}
      {events?.length === 0 && (
        <p class="hint">
          None yet. Starts and stops, losses, drains, lost GPUs and containers are listed here.
        </p>
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
    <ol class="runner-events">
      {events.map((event) => (
        <li>
          <Time at={event.at} exact />
          <span class={BAD.includes(event.kind) ? "trouble-text" : undefined}>
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

function Words({ event: { kind, detail, time, by } }: { event: RunnerEvent }) {
  const what = <bdi>{detail}</bdi>;
  const who = by === null ? "an operator" : <bdi>{by}</bdi>;
  const when = time !== null && <Time at={time} exact />;
  switch (kind) {
    case "started":
      return <>Started, version {what}</>;
    case "stopping":
      return <>Told to stop: finishing its predictions, and taking no new ones</>;
    case "stopped":
      return <>Stopped</>;
    case "drained":
      return <>Drained by {who}</>;
    case "resumed":
      return <>Resumed by {who}</>;
    case "lost":
      return (
        <>
          Its previous process was lost: it was last heard from at {when}, and did not say that it
          stopped
        </>
      );
    case "silent":
      return <>Heard from again: it had been silent since {when}</>;
    case "fell_silent":
      return (
        <>Fell silent: nothing was heard from it after this, and it did not say that it stopped</>
      );
    case "set_aside":
      return (
        <>
          Set aside, at most until {when}:{" "}
          {detail === null ? "it took predictions, and did not connect for them" : what}
        </>
      );
    case "forgiven":
      return <>Not set aside any more: {who} resumed it</>;
    case "token_revoked":
      return <>Its token was revoked{by !== null && <> by {who}</>}</>;
    case "gpu_lost":
      return <>Lost GPU {what}</>;
    case "gpu_back":
      return <>GPU {what} is back</>;
    case "container_started":
      return <>Container started: {what}</>;
    case "container_stopped":
      return <>Container stopped: {what}</>;
  }
}
