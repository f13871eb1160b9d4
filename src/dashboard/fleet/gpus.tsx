/** The table of the fleet: a row for each GPU, and one for each machine without GPUs. */
import type { Child } from "hono/jsx";
import { isResponding } from "../../domain/runners/silence.ts";
import type { RunnerDetail } from "../../protocol/fleet.ts";
import { Table } from "../ui/table.tsx";
import { containerTitle } from "./containers.tsx";
import { type Day, GpuHistory } from "./devices.tsx";
import { type FleetContext, State } from "./runner.tsx";
import { gigabytes, percent, shortTime } from "./status-text.ts";

export const SORTS = ["idle", "load"] as const;
export type Sort = (typeof SORTS)[number];

/** Rows of one page, which stays below 100 KB with them. */
export const ROWS = 40;

/** Steps of five minutes per point of the lines of this table, which are narrow. */
const STEPS_TOGETHER = 12;

export interface GpuRow {
  runner: RunnerDetail;
  /** The number of the GPU, from 0; null for a machine without GPUs. */
  n: number | null;
  gpus: number;
  kind: string;
  use: number | null;
  memory: number | null;
  memory_gb: number | null;
  status: Activity | "lost" | "unavailable";
  /** Versions, or images whose version is unknown. */
  versions: string[];
  /** When the status began: of an offline runner, when it was last seen. */
  since: string | null;
  users: string[];
}

type Activity = "free" | "idle" | "starting" | "running";

type Container = NonNullable<RunnerDetail["reported"]>["containers"][number];

/** Returns the rows of a runner. */
export function rowsOf(runner: RunnerDetail, now: number): GpuRow[] {
  const { machine, reported } = runner;
  const responds = isResponding(runner, now);
  const load = responds ? runner.load : null;
  const isTaking = responds && !runner.draining && runner.state === "ready";
  const isUsable = isTaking && runner.set_aside_until === null;
  const containers = reported?.containers ?? [];
  const rowWith = (held: Container[], lost: boolean, row: Omit<GpuRow, keyof Held | "runner">) => ({
    runner,
    ...row,
    ...heldBy(held, runner, responds),
    ...(lost && { status: "lost" as const }),
    ...(!lost && !isUsable && { status: "unavailable" as const }),
  });
  const unknown = { lost: false, container: null };
  const devices = reported?.devices.length
    ? reported.devices
    : (machine?.gpus.map((gpu) => ({ ...gpu, ...unknown })) ?? []);
  if (devices.length === 0) {
    const memory_gb = machine?.memory_gb ?? null;
    const use = load && machine ? Math.min(load.cpu / machine.cpus, 1) : null;
    const kind = machine ? `CPU, ${machine.cpus} cores` : "CPU";
    const memory = load?.memory_used_gb ?? null;
    return [rowWith(containers, false, { n: null, gpus: 0, kind, use, memory, memory_gb })];
  }
  // The load is in the order of the machine's GPUs: of another number, it is of other ones.
  const loads = load?.gpus?.length === devices.length ? load.gpus : [];
  return devices.map(({ name, memory_gb, container, lost }, n) => {
    const held = containers.filter((one) => one.name === container);
    const gpu = { n, gpus: devices.length, kind: name, memory_gb };
    const use = loads[n]?.used ?? null;
    return rowWith(held, lost, { ...gpu, use, memory: loads[n]?.memory_used_gb ?? null });
  });
}

type Held = Pick<GpuRow, "status" | "versions" | "since" | "users">;

/** Returns what containers do. Containers of the same version share its predictions. */
function heldBy(held: Container[], runner: RunnerDetail, responds: boolean): Held {
  const { work, last_seen_at } = runner;
  if (!responds || held.length === 0)
    return { status: "free", versions: [], since: responds ? null : last_seen_at, users: [] };
  const busy = held.filter(({ running }) => running > 0);
  const starting = held.filter(({ phase }) => phase !== "ready");
  const [some, status] = ((): [Container[], Activity] => {
    if (busy.length > 0) return [busy, "running"];
    return starting.length > 0 ? [starting, "starting"] : [held, "idle"];
  })();
  const jobs =
    status === "running"
      ? work.filter((job) => busy.some((one) => one.version === job.version))
      : [];
  const times =
    jobs.length > 0
      ? jobs.flatMap(({ since }) => since ?? [])
      : some.map(({ since, idle_since }) => (status === "idle" ? idle_since : null) ?? since);
  return {
    status,
    versions: [...new Set(some.map(containerTitle))],
    since: times.toSorted()[0] ?? null,
    users: [...new Set(jobs.flatMap(({ username }) => username ?? []))],
  };
}

const RANKS: Record<GpuRow["status"], number> = {
  free: 0,
  idle: 1,
  starting: 2,
  running: 3,
  unavailable: 4,
  lost: 5,
};

/** Use in tenths: rows would change places at each report otherwise. */
const tenths = (use: number | null) => (use === null ? -1 : Math.round(use * 10));

const memoryShare = ({ memory, memory_gb }: GpuRow) =>
  memory === null || !memory_gb ? null : memory / memory_gb;

/** Sorts rows: by `idle`, the longest idle ones come first; by `load`, the most used ones. */
export function sortedRows(rows: GpuRow[], sort: Sort): GpuRow[] {
  const byLoad = (a: GpuRow, b: GpuRow) =>
    tenths(b.use) - tenths(a.use) || tenths(memoryShare(b)) - tenths(memoryShare(a));
  const byIdle = (a: GpuRow, b: GpuRow) =>
    RANKS[a.status] - RANKS[b.status] ||
    (a.status === "idle" ? (a.since ?? "").localeCompare(b.since ?? "") : byLoad(b, a));
  const byName = (a: GpuRow, b: GpuRow) =>
    a.runner.name.localeCompare(b.runner.name, "en", { numeric: true }) || (a.n ?? 0) - (b.n ?? 0);
  return rows.toSorted((a, b) => (sort === "load" ? byLoad(a, b) : byIdle(a, b)) || byName(a, b));
}

interface GpuTableProps {
  rows: GpuRow[];
  days: ReadonlyMap<string, Day>;
  wanted: ReadonlySet<string>;
  view: FleetContext;
}

/** client/fleet.ts updates each element with `data-part` on its own. */
export const GpuTable = ({ rows, days, wanted, view: { now } }: GpuTableProps) => (
  <Table
    class="stacked linked gpus"
    columns={[
      "Runner",
      "GPU or CPU",
      { name: "Use", is: "number" },
      { name: "Memory", is: "number" },
      "Status",
      "Model",
      "User",
      { name: "Since", is: "number" },
    ]}
    caption={<caption class="visually-hidden">GPUs, last 24 hours</caption>}
  >
    {rows.map((row) => (
      <Row row={row} day={days.get(row.runner.id) ?? null} wanted={wanted} now={now} />
    ))}
  </Table>
);

function Row({ row, day, wanted, now }: RowProps) {
  const { runner, n, gpus, kind, use, memory, memory_gb, versions, since, users } = row;
  const name = n === null ? "CPU" : `GPU ${n + 1}`;
  const history = { day, n: n ?? 0, gpus, together: STEPS_TOGETHER };
  return (
    <tr data-part={`${runner.id} ${n ?? "cpu"}`}>
      <th scope="row" class="clip">
        <a href={`/fleet/runners/${runner.id}`} title={runner.name}>
          <bdi>{runner.name}</bdi>
          {gpus > 1 && <small> #{(n ?? 0) + 1}</small>}
        </a>
      </th>
      <td class="clip" data-label="GPU or CPU" title={kind}>
        <bdi>{kind.replace(/^NVIDIA /, "")}</bdi>
      </td>
      <Meter label="Use" text={use === null ? "–" : `${n === null ? "CPU " : ""}${percent(use)}`}>
        {n !== null && (
          <GpuHistory
            {...history}
            value={({ used }) => used}
            max={1}
            name={`${name} use`}
            unit="percent"
          />
        )}
      </Meter>
      <Meter label="Memory" text={memoryText(memory, memory_gb)}>
        {n !== null && (
          <GpuHistory
            {...history}
            value={({ memory_used_gb }) => memory_used_gb}
            max={memory_gb ?? 1}
            name={`${name} memory`}
            unit="gigabytes"
          />
        )}
      </Meter>
      <td data-label="Status">
        <RowStatus row={row} wanted={wanted} now={now} />
      </td>
      <td class="clip" data-label="Model" title={versions.join(", ")}>
        {versions[0]}
        {versions.length > 1 && <small> +{versions.length - 1}</small>}
      </td>
      <td class="clip" data-label="User" title={users.join(", ")}>
        {users[0]}
        {users.length > 1 && <small> +{users.length - 1}</small>}
      </td>
      <td class="number" data-label="Since">
        {since !== null && <span title={since}>{shortTime(now - Date.parse(since))}</span>}
      </td>
    </tr>
  );
}

interface RowProps {
  row: GpuRow;
  day: Day;
  wanted: GpuTableProps["wanted"];
  now: number;
}

const Meter = ({ label, text, children }: { label: string; text: string; children?: Child }) => (
  <td class="number" data-label={label}>
    <div class="line-up meter-cell">
      {children}
      <span>{text}</span>
    </div>
  </td>
);

function memoryText(used: number | null, of: number | null): string {
  if (of === null) return "–";
  return used === null ? `${gigabytes(of)} GB` : `${gigabytes(used)}/${gigabytes(of)} GB`;
}

const SIGNS = { free: "cold", idle: "ready", starting: "pending", running: "started" };

function RowStatus({ row: { status, runner }, wanted, now }: Omit<RowProps, "day">) {
  if (status === "lost") return <span class="status failed">lost</span>;
  if (status === "unavailable") return <State runner={runner} wanted={wanted} now={now} short />;
  return <span class={`status ${SIGNS[status]}`}>{status}</span>;
}
