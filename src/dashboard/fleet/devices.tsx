/** The GPUs of a runner, and which containers have them. */

import type { GpuUse, HistoryStep } from "../../domain/runners/history.ts";
import type { RunnerDetail } from "../../protocol/fleet.ts";
import { Table } from "../ui/table.tsx";
import { containerTitle } from "./containers.tsx";
import { gigabytes, percent } from "./status-text.ts";

/** The most GPUs that are shown; a runner can report 256. */
const MAX_SHOWN = 64;

type Reported = NonNullable<RunnerDetail["reported"]>;

export function Devices({
  reported,
  load,
  day,
}: {
  reported: Reported;
  load: RunnerDetail["load"];
  day: Day;
}) {
  const { devices, containers } = reported;
  if (devices.length === 0) return null;
  const names = new Map(containers.map((one) => [one.name, containerTitle(one)]));
  // The load is in the order of the machine's GPUs: of another number, it is of other ones.
  const loads = load?.gpus?.length === devices.length ? load.gpus : [];
  return (
    <section aria-labelledby="gpus-title">
      <h2 id="gpus-title">GPUs</h2>
      {day?.some((step) => step?.gpus.length === devices.length) && (
        <p class="hint">Charts show the last 24 hours.</p>
      )}
      <Table
        class="stacked devices"
        columns={[
          "GPU",
          "Container",
          { name: "Use", is: "number" },
          { name: "Memory", is: "number" },
        ]}
      >
        {devices.slice(0, MAX_SHOWN).map(({ name, memory_gb, lost, container }, n) => {
          const use = loads[n];
          const history = { day, n, gpus: devices.length };
          return (
            <tr>
              <th scope="row">
                {n + 1}{" "}
                <small>
                  <bdi>{name}</bdi>
                </small>{" "}
                {lost && <span class="status failed">lost</span>}
              </th>
              <td data-label="Container">
                {container === null ? "free" : (names.get(container) ?? container)}
              </td>
              <td class="number" data-label="Use">
                {use ? percent(use.used) : "unknown"}
                <GpuHistory
                  {...history}
                  value={({ used }) => used}
                  max={1}
                  name={`GPU ${n + 1} use`}
                  unit="percent"
                />
              </td>
              <td class="number" data-label="Memory">
                {use
                  ? `${gigabytes(use.memory_used_gb)} of ${gigabytes(memory_gb)} GB`
                  : `${gigabytes(memory_gb)} GB`}
                <GpuHistory
                  {...history}
                  value={({ memory_used_gb }) => memory_used_gb}
                  max={memory_gb}
                  name={`GPU ${n + 1} memory`}
                  unit="gigabytes"
                />
              </td>
            </tr>
          );
        })}
      </Table>
      {devices.length > MAX_SHOWN && <p class="hint">And {devices.length - MAX_SHOWN} more.</p>}
      {devices.some(({ lost }) => lost) && (
        <p class="hint">
          A lost GPU has failed or is no longer listed by its driver, so nothing starts on it. Check{" "}
          <code>nvidia-smi</code> and <code>dmesg</code> on the machine, then restart the runner.
        </p>
      )}
    </section>
  );
}

/** Null: the runner object has not answered. Otherwise the steps of domain/runners/history.ts. */
export type Day = readonly (HistoryStep | null)[] | null;

/** Steps of five minutes per point of a line by default: a line is some 200 px wide, and a page may have 128. */
const STEPS_TOGETHER = 3;

export function RunHistory({ day, slots }: { day: Day; slots: number }) {
  if (!day?.some((step) => step !== null)) return null;
  const running = day.map((step) => step?.running ?? null);
  const most = Math.max(...running.map((count) => count ?? 0));
  return (
    <figure class="flush spaced quiet small run-history">
      <figcaption>
        Concurrent predictions, last 24h. Peak{" "}
        <strong>
          {most} of {slots}
        </strong>
        .
      </figcaption>
      <Sparkline
        values={running}
        max={Math.max(slots, most, 1)}
        name="Concurrent predictions"
        text={String}
      />
      <div class="bar spread" aria-hidden="true">
        <span>24 hours ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

/**
 * @param gpus how many the machine has: of another number, its history is of other ones
 * @param together steps of five minutes per point of the line
 */
export function GpuHistory({
  day,
  n,
  gpus,
  value,
  max,
  name,
  unit,
  together = STEPS_TOGETHER,
}: {
  day: Day;
  n: number;
  gpus: number;
  value: (gpu: GpuUse) => number;
  max: number;
  name: string;
  unit: "percent" | "gigabytes";
  together?: number;
}) {
  const values = (day ?? []).map((step) => {
    const gpu = step?.gpus.length === gpus ? step.gpus[n] : undefined;
    return gpu ? value(gpu) : null;
  });
  return (
    <Sparkline
      values={grouped(values, together, unit === "percent" ? mean : highest)}
      max={max}
      name={name}
      text={TEXTS[unit]}
    />
  );
}

const TEXTS = { percent, gigabytes: (value: number) => `${gigabytes(value)} GB` };

const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const highest = (values: number[]) => Math.max(...values);

/** @param of what a line has of some steps: those that are known, of which there is at least one */
function grouped(
  values: (number | null)[],
  size: number,
  of: (values: number[]) => number,
): (number | null)[] {
  const groups = Array.from({ length: Math.ceil(values.length / size) }, (_, n) =>
    values.slice(n * size, (n + 1) * size).filter((value) => value !== null),
  );
  return groups.map((group) => (group.length === 0 ? null : of(group)));
}

/** Height in SVG units, which are stretched to fit. */
const HEIGHT = 20;

interface SparklineProps {
  /** Oldest first. */
  values: readonly (number | null)[];
  max: number;
  /** Name of the line for screen readers: `GPU 1 in use`. */
  name: string;
  text: (value: number) => string;
}

function Sparkline({ values, max, name, text }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  const latest = known.at(-1);
  if (latest === undefined) return null;
  const label = `${name}, last 24h: ${text(Math.min(...known))} to ${text(Math.max(...known))}, now ${text(latest)}`;
  const lines = linesOf(values, max);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${values.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
    >
      <title>{label}</title>
      <path fill="var(--accent-ground)" d={lines.map(areaBelow).join("")} />
      <path
        class="line"
        d={lines.map(({ from, heights }) => `M${from} ${pathOf(from, heights)}`).join("")}
      />
    </svg>
  );
}

interface Line {
  from: number;
  /** From the top. One value is as wide as a step. */
  heights: number[];
}

function linesOf(values: SparklineProps["values"], max: number): Line[] {
  const lines: Line[] = [];
  for (const [n, value] of values.entries()) {
    if (value === null) continue;
    const y =
      Math.round(HEIGHT * (1 - Math.min(value / Math.max(max, Number.MIN_VALUE), 1)) * 10) / 10;
    const last = lines.at(-1);
    if (last && last.from + last.heights.length === n) last.heights.push(y);
    else lines.push({ from: n, heights: [y] });
  }
  return lines;
}

const pathOf = (from: number, heights: number[]) =>
  `${heights[0]}${heights.map((y, n) => `L${from + n} ${y}`).join("")}H${from + heights.length}`;

const areaBelow = ({ from, heights }: Line) =>
  `M${from} ${HEIGHT}V${pathOf(from, heights)}V${HEIGHT}z`;
