/** `/fleet/runners/:id`: a runner with all that is known of it. */
import { isHeard, isOffline } from "../../domain/runners/silence.ts";
import type { RunnerDetail } from "../../protocol/fleet.ts";
import type { RunnerEvent } from "../../protocol/runner-log.ts";
import { Above, Time } from "../ui/parts.tsx";
import { Containers } from "./containers.tsx";
import { Devices } from "./devices.tsx";
import { Events } from "./events.tsx";
import { type Day, RunHistory } from "./history.tsx";
import { LogSection } from "./log-page.tsx";
import {
  Actions,
  type FleetContext,
  Gauges,
  RunnerDetails,
  SetAside,
  State,
  Update,
} from "./runner.tsx";
import { Work } from "./work.tsx";

/** client/fleet.ts updates each element with `data-part` on its own. */
export const RunnerPage = ({
  runner,
  day,
  events,
  linked,
  view,
}: {
  runner: RunnerDetail;
  day: Day;
  events: RunnerEvent[] | undefined;
  /** `owner/name` of the models whose pages the viewer may open. */
  linked: ReadonlySet<string>;
  view: FleetContext;
}) => {
  const { told } = runner;
  const heard = isHeard(runner, view.now);
  return (
    <div data-fleet class="runner-page">
      <Above places={[["/fleet", "Fleet"]]} />
      <div class="runner-head" data-part="head">
        <h1>
          <bdi>{runner.name}</bdi>
        </h1>
        <State runner={runner} now={view.now} />
        <Actions runner={runner} onOwnPage />
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
          <dl class="gauges">
            <Gauges runner={runner} />
          </dl>
        )}
      </div>
      <div data-part="history">
        <RunHistory day={day} slots={runner.slots} />
      </div>
      {told !== null && (
        <p class="hint" data-part="age">
          {heard ? "Told" : "Last told"} by the runner at <Time at={told.at} exact />
          {heard ? "." : ": what follows is as of then, and may be over."}
        </p>
      )}
      <div data-part="told">
        {told === null ? (
          <Unknown runner={runner} />
        ) : (
          <>
            <Devices told={told} load={heard ? runner.load : null} day={day} />
            <Containers
              told={told}
              linked={linked}
              heard={heard}
              now={heard ? view.now : Date.parse(told.at)}
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
  <section aria-labelledby="told-title">
    <h2 id="told-title">GPUs and containers</h2>
    <p class="hint">Unknown{whyUnknown(runner)}</p>
  </section>
);

function whyUnknown(runner: RunnerDetail): string {
  if (isOffline(runner)) return ", because the runner is not there.";
  if (runner.state === "draining")
    return ": a runner tells it when it asks for work, which it does not while it is drained.";
  return `: the pool ${runner.pool} did not answer within half a second, or has not heard from the runner yet. Load the page again.`;
}
