/** `/fleet`: what is wrong, the GPUs and what runs on them, and the queues of hardware classes. */
import type { Child } from "hono/jsx";
import { spaceAlerts } from "../../domain/alerts/deployment.ts";
import { type FleetAlert, fleetAlerts } from "../../domain/alerts/fleet.ts";
import { RULES } from "../../domain/alerts/rules.ts";
import { silenceOf, wantedHardware } from "../../domain/runners/silence.ts";
import { count } from "../../lib/text.ts";
import type { ReasonCode } from "../../protocol/explanation.ts";
import type { QueueState, RunnerDetail, RunnerState } from "../../protocol/fleet.ts";
import type { DatabaseSpace } from "../../services/access/storage-quota.ts";
import type { FleetClass, FleetPool } from "../../services/runners/fleet.ts";
import { Empty, Pager } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { FleetTabs } from "../ui/tabs.tsx";
import type { Day } from "./devices.tsx";
import { type GpuRow, GpuTable, ROWS, rowsOf, SORTS, type Sort, sortedRows } from "./gpus.tsx";
import { type FleetContext, MISSED } from "./runner.tsx";
import { waitText } from "./status-text.ts";

const MAX_SHOWN = 10;

const Alerts = ({ title, alerts }: { title: string; alerts: FleetAlert[] }) =>
  alerts.length === 0 ? null : (
    <section class="below alerts" aria-label={title}>
      <ul class="cards">
        {alerts.slice(0, MAX_SHOWN).map(({ level, about, name, text, help }) => (
          <li class={level === "bad" ? "box bad-card" : "box"}>
            <span class={`status ${level === "bad" ? "failed" : "warning"}`}>
              {about ? (
                <a href={addressOf(about)}>
                  <bdi>{name}</bdi>
                </a>
              ) : level === "bad" ? (
                "problem"
              ) : (
                "warning"
              )}
            </span>{" "}
            {text} {help && <a href={help.address}>{help.name}</a>}
          </li>
        ))}
        {alerts.length > MAX_SHOWN && <li>And {alerts.length - MAX_SHOWN} more.</li>}
      </ul>
    </section>
  );

const addressOf = (about: NonNullable<FleetAlert["about"]>) =>
  "runner" in about ? `/fleet/runners/${about.runner}` : `#class-${about.hardware}`;

interface FleetPageProps {
  pools: FleetPool[];
  runners: RunnerDetail[];
  complete: boolean;
  days: ReadonlyMap<string, Day>;
  sort: Sort;
  /** From 0. */
  page: number;
  view: FleetContext;
  hasBackups: boolean;
  space: DatabaseSpace;
}

/** Returns the rows of a page of the table, and how many there are on all pages. */
export function shownRows(runners: RunnerDetail[], sort: Sort, page: number, now: number) {
  const all = sortedRows(
    runners.flatMap((runner) => rowsOf(runner, now)),
    sort,
  );
  return { all, rows: all.slice(page * ROWS, (page + 1) * ROWS) };
}

export const FleetPage = (props: FleetPageProps) => {
  const { pools, runners, complete, days, sort, page, view, hasBackups, space } = props;
  const { all, rows } = shownRows(runners, sort, page, view.now);
  const queues = pools.flatMap(({ classes }) => classes.map(({ queue }) => queue));
  const alerts = [
    ...spaceAlerts(space).map((alert) => {
      const { title, todo } = RULES[alert.rule];
      return { ...alert, text: `${title}: ${alert.text} ${todo}` };
    }),
    ...fleetAlerts({ runners, complete, queues }, view.now),
    ...(hasBackups ? [] : [NO_BACKUPS]),
  ];
  const isBad = ({ level }: FleetAlert) => level === "bad";
  return (
    <div data-fleet class="fleet">
      <FleetTabs current="/fleet">{runners.length > 0 && <SortBy sort={sort} />}</FleetTabs>
      <div data-part="alerts">
        <Alerts title="Needs attention" alerts={alerts.filter(isBad)} />
      </div>
      {runners.length === 0 ? (
        <NoRunners />
      ) : (
        <>
          <div class="scroll">
            <GpuTable rows={rows} days={days} wanted={wantedHardware(queues)} view={view} />
          </div>
          <Pages sort={sort} page={page} rows={all.length} />
          <p class="hint" data-part="summary">
            {summaryOf(all, runners.length)}. {MISSED}{" "}
            <a href="/fleet/tokens">Create a runner token</a> to get the install command.
          </p>
        </>
      )}
      <Queues pools={pools} complete={complete} now={view.now} />
      <div data-part="warnings">
        <Alerts title="Warnings" alerts={alerts.filter((alert) => !isBad(alert))} />
      </div>
    </div>
  );
};

const NO_BACKUPS: FleetAlert = {
  level: "warning",
  text: "Backups are off.",
  help: { address: "/docs/deploying#back-up-and-restore", name: "Set up backups" },
};

const SortBy = ({ sort }: { sort: Sort }) => (
  <nav class="segments small push sort" aria-label="Sort by">
    {SORTS.map((one) => (
      <a href={`/fleet?sort=${one}`} aria-current={one === sort ? "true" : undefined}>
        {one === "idle" ? "Idle first" : "Busiest first"}
      </a>
    ))}
  </nav>
);

const Pages = ({ sort, page, rows }: { sort: Sort; page: number; rows: number }) => {
  const address = (at: number) => `https://fleet/fleet?sort=${sort}&page=${at + 1}`;
  return (
    <Pager
      previous={page > 0 ? address(page - 1) : null}
      next={(page + 1) * ROWS < rows ? address(page + 1) : null}
    />
  );
};

const SUMMED = ["free", "idle", "starting", "running", "lost", "unavailable"] as const;

function summaryOf(rows: GpuRow[], runners: number): string {
  const gpus = rows.filter(({ n }) => n !== null);
  const counted = gpus.length > 0 ? gpus : rows;
  const noun = gpus.length > 0 ? "GPU" : "machine";
  const parts = SUMMED.flatMap((status) => {
    const of = counted.filter((row) => row.status === status).length;
    return of > 0 ? `${of} ${status}` : [];
  });
  const on = gpus.length > 0 ? ` on ${count(runners, "runner")}` : "";
  return `${count(counted.length, noun)}${on}: ${parts.join(", ")}`;
}

const NoRunners = () => (
  <Empty title="No runners yet">
    <p>
      A runner is a program on your GPU machine that runs predictions. It only makes outbound
      connections. Create a token to get the install command.
    </p>
    <p class="flow actions">
      <a class="button primary" href="/fleet/tokens">
        Add the first runner
      </a>
    </p>
  </Empty>
);

/** The classes with runners or waiting predictions. */
function Queues({ pools, complete, now }: { pools: FleetPool[]; complete: boolean; now: number }) {
  const classes = pools.flatMap(({ name, classes, runners }) =>
    classes.map((one) => ({
      ...one,
      pool: classes.length > 1 ? name : undefined,
      runners: runners.filter(({ hardware }) => hardware.includes(one.identifier)),
    })),
  );
  const used = classes.filter(({ runners, queue }) => runners.length > 0 || queue.waiting !== 0);
  if (used.length === 0) return null;
  return (
    <section aria-labelledby="queues-title">
      <h2 id="queues-title">Queues</h2>
      <Table
        class="stacked"
        columns={[
          "Hardware",
          ...["Ready runners", "Slots", "Running", "Queued", "Longest wait", "Median wait"].map(
            (name) => ({ name, is: "number" as const }),
          ),
        ]}
      >
        {used.map((one) => (
          <ClassRow hardware={one} now={now} />
        ))}
      </Table>
      {used.map(({ identifier, queue }) => (
        <section data-part={`queue ${identifier}`} aria-label={`Queue of ${identifier}`}>
          <Reasons queue={queue} complete={complete} />
          <WaitingAccounts queue={queue} />
        </section>
      ))}
    </section>
  );
}

interface ServedClass extends FleetClass {
  /** The pool, if other classes are in it as well. */
  pool: string | undefined;
  runners: RunnerState[];
}

const takesWork = (now: number) => (runner: RunnerState) =>
  runner.state === "ready" &&
  !runner.draining &&
  runner.set_aside_until === null &&
  silenceOf(runner, now) === undefined;

function ClassRow({ hardware, now }: { hardware: ServedClass; now: number }) {
  const { identifier, name, pool, queue, runners } = hardware;
  const online = runners.filter(({ state }) => state === "ready" || state === "draining");
  const ready = runners.filter(takesWork(now));
  const sum = (some: RunnerState[], number: (runner: RunnerState) => number) =>
    some.reduce((total, runner) => total + number(runner), 0);
  const numbers: [name: string, number: Child][] = [
    ["Ready runners", ready.length],
    ["Slots", sum(ready, ({ slots }) => slots)],
    ["Running", sum(online, ({ running }) => running.length)],
    ["Queued", queue.waiting ?? "unknown"],
    ["Longest wait", waitText(queue.oldest_wait_ms)],
    ["Median wait", waitText(queue.median_wait_ms)],
  ];
  return (
    <tr id={`class-${identifier}`} data-part={`class ${identifier}`}>
      <th scope="row">
        {identifier}{" "}
        <small>
          {name === null ? "deleted" : name !== identifier && <bdi>{name}</bdi>}
          {pool !== undefined && ` (pool ${pool})`}
        </small>
      </th>
      {numbers.map(([label, number]) => (
        <td class="number" data-label={label}>
          {number}
        </td>
      ))}
    </tr>
  );
}

/** An alert says that a class has no runner, unless there are more runners than were looked at. */
const Reasons = ({ queue, complete }: { queue: QueueState; complete: boolean }) => (
  <>
    {queue.reasons
      .filter(({ code }) => code !== "no_runner" || !complete)
      .map(({ message }) => (
        <p class="hint">{message}</p>
      ))}
  </>
);

const WORDS: Partial<Record<ReasonCode, string>> = {
  busy: "Its turn",
  no_runner: "A runner to come online",
  too_small: "A larger runner",
  account_share: "Other accounts (fair share reached)",
  held: "A starting or busy container",
  reserved: "A reserved runner",
  declined: "Another runner (others declined)",
};

const WaitingAccounts = ({ queue: { hardware, accounts } }: { queue: QueueState }) =>
  accounts.length === 0 ? null : (
    <Table
      class="waiting stacked"
      columns={[
        "Account",
        { name: "Queued", is: "number" },
        { name: "Longest wait", is: "number" },
        "Waiting for",
      ]}
      caption={
        <caption class="visually-hidden">Accounts with queued predictions on {hardware}</caption>
      }
    >
      {accounts.map(({ username, waiting, oldest_wait_ms, code }) => (
        <tr>
          <th scope="row">
            {username === null ? "deleted account" : <a href={`/users/${username}`}>{username}</a>}
          </th>
          <td class="number" data-label="Queued">
            {waiting}
          </td>
          <td class="number" data-label="Longest wait">
            {waitText(oldest_wait_ms)}
          </td>
          <td data-label="Waiting for">{WORDS[code] ?? "Its turn"}</td>
        </tr>
      ))}
    </Table>
  );
