/** `/fleet`: pools with their hardware classes, queues and runners. */
import { type FleetAlert, fleetAlerts } from "../../domain/runners/alerts.ts";
import { isOffline, silenceOf } from "../../domain/runners/silence.ts";
import { byteText } from "../../lib/text.ts";
import type { ReasonCode } from "../../protocol/explanation.ts";
import type { QueueState, RunnerState } from "../../protocol/fleet.ts";
import type { DatabaseSpace } from "../../services/access/storage-quota.ts";
import type { FleetClass, FleetPool } from "../../services/runners/fleet.ts";
import { Empty, Fact } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { FleetTabs } from "../ui/tabs.tsx";
import { type FleetContext, Runner } from "./runner.tsx";
import { waitText } from "./status-text.ts";

const MAX_SHOWN = 10;

const Alerts = ({ alerts }: { alerts: FleetAlert[] }) =>
  alerts.length === 0 ? null : (
    <section class="panel below alerts" aria-labelledby="alerts-title">
      <h2 id="alerts-title">Needs attention</h2>
      <ul class="pairs">
        {alerts.slice(0, MAX_SHOWN).map(({ level, about, name, text }) => (
          <li>
            <span class={`status ${level === "bad" ? "failed" : "warning"}`}>
              {level === "bad" ? "problem" : "warning"}
            </span>
            <span>
              {about && (
                <>
                  <a href={addressOf(about)}>
                    <bdi>{name}</bdi>
                  </a>
                  :{" "}
                </>
              )}
              {text}
            </span>
          </li>
        ))}
        {alerts.length > MAX_SHOWN && <li>And {alerts.length - MAX_SHOWN} more.</li>}
      </ul>
    </section>
  );

const addressOf = (about: NonNullable<FleetAlert["about"]>) =>
  "runner" in about ? `/fleet/runners/${about.runner}` : `#class-${about.hardware}`;

export const FleetPage = ({
  pools,
  complete,
  view,
  hasBackups,
  space,
}: {
  pools: FleetPool[];
  complete: boolean;
  view: FleetContext;
  hasBackups: boolean;
  space: DatabaseSpace;
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
      {!hasBackups && (
        <p>
          <span class="status warning">warning</span> No{" "}
          <a href="/docs/deploying#back-up-and-restore">backups</a> are made, because the secret{" "}
          <code>BACKUP_KEY</code> is not set, or has fewer than 32 characters.
        </p>
      )}
      <div data-fleet>
        <div data-part="alerts">
          <Alerts alerts={[...spaceAlerts(space), ...alertsOf(pools, complete, view.now)]} />
        </div>
        {empty && <NoRunners />}
        {used.map((one) => (
          <PoolSection pool={one} complete={complete} view={view} />
        ))}
        {!empty && (
          <p class="hint">
            To add a runner, create a <a href="/fleet/tokens">runner token</a>: it comes with the
            command that starts one.
          </p>
        )}
        {!empty && idle.length > 0 && (
          <p class="hint">
            No runners and nothing waiting: {idle.map(({ identifier }) => identifier).join(", ")}.
          </p>
        )}
      </div>
    </>
  );
};

const alertsOf = (pools: FleetPool[], complete: boolean, now: number) => {
  const queues = pools.flatMap(({ classes }) => classes.map(({ queue }) => queue));
  const runners = pools.flatMap((one) => one.runners);
  return fleetAlerts({ runners, complete, queues }, now);
};

const spaceAlerts = ({ bytes, max_bytes, isNearlyFull }: DatabaseSpace): FleetAlert[] =>
  isNearlyFull
    ? [
        {
          level: bytes >= max_bytes ? "bad" : "warning",
          text: `The accounts take ${byteText(bytes)} of ${byteText(max_bytes)} of the database. Delete what nobody needs, or raise DATABASE_GB, up to the 10 GB that D1 holds.`,
        },
      ]
    : [];

const NoRunners = () => (
  <Empty title="No runners yet">
    <p>
      A runner is a program on your GPU machine that fetches work from this deployment. It makes
      outbound connections only. Create a token to get the command that starts it.
    </p>
    <p class="flow actions">
      <a class="button primary" href="/fleet/tokens">
        Add the first runner
      </a>
    </p>
  </Empty>
);

const PoolSection = ({
  pool: { name, classes, runners },
  complete,
  view,
}: {
  pool: FleetPool;
  complete: boolean;
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
        complete={complete}
        now={view.now}
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

interface ServedClass {
  hardware: FleetClass;
  runners: RunnerState[];
  /** Whether these are all runners that serve the class. */
  complete: boolean;
  now: number;
}

const ClassQueue = ({ hardware: { identifier, name, queue }, ...served }: ServedClass) => (
  <>
    <h2 id={`class-${identifier}`}>
      {identifier}{" "}
      <small>
        <bdi>{name ?? "deleted"}</bdi>
      </small>
    </h2>
    <Stats identifier={identifier} queue={queue} {...served} />
    <div data-part={`alert ${identifier}`}>
      <Alert queue={queue} {...served} />
      <Reasons queue={queue} {...served} />
      <WaitingAccounts queue={queue} />
    </div>
  </>
);

const takesWork = (now: number) => (runner: RunnerState) =>
  runner.state === "ready" &&
  !runner.draining &&
  runner.set_aside_until === null &&
  silenceOf(runner, now) === undefined;

interface QueueProps extends Omit<ServedClass, "hardware"> {
  queue: QueueState;
}

/** Whether no runner takes work of the class, by the runners' last reports. */
const isStuck = ({ queue: { waiting }, runners, complete, now }: QueueProps) =>
  runners.length === 0 ? complete : (waiting ?? 0) > 0 && !runners.some(takesWork(now));

function Reasons(props: QueueProps) {
  const hasAlert = isStuck(props);
  const reasons = props.queue.reasons.filter(({ code }) => code !== "no_runner" || !hasAlert);
  return (
    <>
      {reasons.map(({ message }) => (
        <p class="hint">{message}</p>
      ))}
    </>
  );
}

function Alert(props: QueueProps) {
  if (!isStuck(props)) return null;
  const { waiting } = props.queue;
  return (
    <p class={waiting === 0 ? "hint" : "problem"}>
      {whyStuck(props)} <a href="/fleet/tokens">Add a runner</a>
    </p>
  );
}

function whyStuck({ queue: { waiting }, runners, now }: QueueProps): string {
  if (waiting === null) return "The length of its queue is currently unknown.";
  if (waiting === 0) return "No runner serves this hardware.";
  const wait = waiting === 1 ? "A prediction is waiting, but" : "Predictions are waiting, but";
  if (runners.length === 0) return `${wait} no runner serves this hardware.`;
  return runners.some(({ state }) => state === "unknown")
    ? `${wait} the state of its runners is currently unknown.`
    : `${wait} ${runners.length === 1 ? "its runner is" : "all its runners are"} ${hindrances(runners, now)}.`;
}

const OR = new Intl.ListFormat("en", { type: "disjunction" });

/** Names the reasons why runners take no work, which can differ between runners. */
function hindrances(runners: RunnerState[], now: number): string {
  const all = runners.map((runner) => {
    if (isOffline(runner)) return "offline";
    if (runner.draining || runner.state === "draining") return "draining";
    return silenceOf(runner, now) === undefined ? "set aside" : "silent";
  });
  return OR.format(new Set(all));
}

function Stats({ identifier, queue, runners, now }: QueueProps & { identifier: string }) {
  const online = runners.filter(({ state }) => state === "ready" || state === "draining");
  const ready = runners.filter(takesWork(now));
  const sum = (some: RunnerState[], number: (runner: RunnerState) => number) =>
    some.reduce((total, runner) => total + number(runner), 0);
  const stats: [string, string | number][] = [
    ["Ready", ready.length],
    ["Slots", sum(ready, ({ slots }) => slots)],
    ["Running", sum(online, ({ running }) => running.length)],
    ["Waiting", queue.waiting ?? "?"],
    ["Longest wait", waitText(queue.oldest_wait_ms)],
    ["Median wait", waitText(queue.median_wait_ms)],
  ];
  return (
    <dl class="figures totals" data-part={`class ${identifier}`}>
      {stats.map(([name, value]) => (
        <Fact name={name}>{value}</Fact>
      ))}
    </dl>
  );
}

const WORDS: Partial<Record<ReasonCode, string>> = {
  busy: "its turn",
  no_runner: "a runner that takes work",
  too_small: "a larger runner",
  account_share: "its share: it has as much as it may while others wait",
  held: "a container of its model that starts or is busy",
  reserved: "a runner that is kept for it",
  declined: "a runner that does not decline it",
};

const WaitingAccounts = ({ queue: { hardware, accounts } }: { queue: QueueState }) =>
  accounts.length === 0 ? null : (
    <Table
      class="waiting stacked"
      columns={[
        "Account",
        { name: "Waiting", is: "number" },
        { name: "Longest", is: "number" },
        "Waits for",
      ]}
      caption={<caption class="visually-hidden">Accounts that wait for {hardware}</caption>}
    >
      {accounts.map(({ username, waiting, oldest_wait_ms, code }) => (
        <tr>
          <th scope="row">
            {username === null ? "deleted account" : <a href={`/users/${username}`}>{username}</a>}
          </th>
          <td class="number" data-label="Waiting">
            {waiting}
          </td>
          <td class="number" data-label="Longest">
            {waitText(oldest_wait_ms)}
          </td>
          <td data-label="Waits for">{WORDS[code] ?? "its turn"}</td>
        </tr>
      ))}
    </Table>
  );
