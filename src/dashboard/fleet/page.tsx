/** `/fleet`: pools with their hardware classes, queues and runners. */

import { fleetAlerts } from "../../domain/runners/alerts.ts";
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";
import type { FleetClass, FleetPool } from "../../services/runners/fleet.ts";
import { Empty } from "../ui/parts.tsx";
import { Alerts } from "./alerts.tsx";
import { type FleetContext, Runner } from "./runner.tsx";
import { waitText } from "./status-text.ts";
import { FleetTabs } from "./tabs.tsx";
import { WaitingAccounts } from "./waiting.tsx";

export const FleetPage = ({
  pools,
  complete,
  view,
  hasBackups,
}: {
  pools: FleetPool[];
  complete: boolean;
  view: FleetContext;
  hasBackups: boolean;
}) => {
  const used = pools.filter(
    ({ runners, classes }) =>
      runners.length > 0 || classes.some(({ queue }) => queue.waiting !== 0),
  );
  const idle = pools.filter((one) => !used.includes(one)).flatMap(({ classes }) => classes);
  const empty = pools.every(({ runners }) => runners.length === 0);
  return (
    <>
      <FleetTabs current="/fleet" />
      <div data-fleet>
        <div data-part="alerts">
          <Alerts alerts={alertsOf(pools, view.now)} />
        </div>
        {empty && <NoRunners />}
        {used.map((one) => (
          <PoolSection pool={one} view={view} />
        ))}
        {!empty && idle.length > 0 && (
          <p class="hint">
            No runners and nothing waiting: {idle.map(({ identifier }) => identifier).join(", ")}.
          </p>
        )}
        {!complete && (
          <p class="hint">
            Showing the newest runners. <code>GET /v1/operator/runners</code> lists all of them.
          </p>
        )}
      </div>
      {!hasBackups && (
        <p class="hint">
          No <a href="/docs/deploying#back-up-and-restore">backups</a> are made, because the secret{" "}
          <code>BACKUP_KEY</code> is not set, or has fewer than 32 characters.
        </p>
      )}
    </>
  );
};

const alertsOf = (pools: FleetPool[], now: number) => {
  const queues = pools.flatMap(({ classes }) => classes.map(({ queue }) => queue));
  return fleetAlerts({ runners: pools.flatMap(({ runners }) => runners), queues }, now);
};

const NoRunners = () => (
  <Empty title="No runners yet">
    <p>
      A runner is a program on your GPU box that fetches work from this deployment. It makes
      outbound connections only. Create a token to get the command that starts it.
    </p>
    <p class="actions">
      <a class="button primary" href="/fleet/tokens">
        Add the first runner
      </a>
    </p>
  </Empty>
);

const PoolSection = ({
  pool: { name, classes, runners },
  view,
}: {
  pool: FleetPool;
  view: FleetContext;
}) => (
  <section
    class="hardware"
    aria-labelledby={classes.map(({ identifier }) => `class-${identifier}`).join(" ")}
  >
    {classes.length > 1 && <p class="hint">Classes that share the runners of the pool {name}:</p>}
    {classes.map((one) => (
      <ClassQueue
        hardware={one}
        runners={runners.filter(({ hardware }) => hardware.includes(one.identifier))}
      />
    ))}
    {runners.length > 0 && (
      <ul class="runners">
        {runners.map((runner) => (
          <Runner runner={runner} isShared={classes.length > 1} view={view} />
        ))}
      </ul>
    )}
  </section>
);

/** A class, and the runners that serve it. */
interface ServedClass {
  hardware: FleetClass;
  runners: RunnerState[];
}

const ClassQueue = ({ hardware: { identifier, name, queue }, runners }: ServedClass) => (
  <>
    <h2 id={`class-${identifier}`}>
      {identifier} <small>{name ?? "deleted"}</small>
    </h2>
    <Stats identifier={identifier} queue={queue} runners={runners} />
    <div data-part={`alert ${identifier}`}>
      <Alert queue={queue} runners={runners} />
      <Reasons queue={queue} runners={runners} />
      <WaitingAccounts queue={queue} />
    </div>
  </>
);

const takesWork = ({ state, draining, set_aside_until }: RunnerState) =>
  state === "ready" && !draining && set_aside_until === null;

interface QueueProps {
  queue: QueueState;
  runners: ServedClass["runners"];
}

/** Whether nobody takes its work, as far as the runners have told. */
const isStuck = ({ queue: { waiting }, runners }: QueueProps) =>
  runners.length === 0 || (waiting !== 0 && waiting !== null && !runners.some(takesWork));

/** Why predictions wait, beside what the alert says. */
function Reasons({ queue, runners }: QueueProps) {
  const reasons = queue.reasons.filter(
    ({ code }) => code !== "no_runner" || !isStuck({ queue, runners }),
  );
  return (
    <>
      {reasons.map(({ message }) => (
        <p class="hint">{message}</p>
      ))}
    </>
  );
}

function Alert({ queue, runners }: QueueProps) {
  const { waiting } = queue;
  if (!isStuck({ queue, runners })) return null;
  const reason =
    runners.length === 0
      ? "no runner serves this hardware."
      : "all its runners are offline, draining or set aside.";
  return (
    <p class="problem">
      {waiting === null
        ? "The length of its queue is currently unknown."
        : `Predictions are waiting, but ${reason}`}{" "}
      <a href="/fleet/tokens">Add a runner</a>
    </p>
  );
}

function Stats({ identifier, queue, runners }: QueueProps & { identifier: string }) {
  const online = runners.filter(({ state }) => state === "ready" || state === "draining");
  const sum = (number: (runner: (typeof online)[number]) => number) =>
    online.reduce((total, runner) => total + number(runner), 0);
  const stats: [string, string | number][] = [
    ["Ready", runners.filter(takesWork).length],
    ["Slots", sum(({ slots }) => slots)],
    ["Running", sum(({ running }) => running.length)],
    ["Waiting", queue.waiting ?? "?"],
    ["Longest wait", waitText(queue.oldest_wait_ms)],
    ["Median wait", waitText(queue.median_wait_ms)],
  ];
  return (
    <dl class="stats" data-part={`class ${identifier}`}>
      {stats.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
