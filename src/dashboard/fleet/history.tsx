/** The work of a runner over the last day. */
import type { GpuUse, HistoryStep } from "../../domain/runners/history.ts";
import { Sparkline } from "../ui/sparkline.tsx";
import { gigabytes, percent } from "./status-text.ts";

/** Null: the runner object has not answered. Otherwise the steps of domain/runners/history.ts. */
export type Day = readonly (HistoryStep | null)[] | null;

/** Steps of five minutes per point of a line: a line is some 200 px wide, and a page may have 64 lines. */
const STEPS_TOGETHER = 3;

/** The number of predictions that the runner had at a time. */
export function RunHistory({ day, slots }: { day: Day; slots: number }) {
  if (!day?.some((step) => step !== null)) return null;
  const running = day.map((step) => step?.running ?? null);
  const most = Math.max(...running.map((count) => count ?? 0));
  return (
    <figure class="run-history">
      <figcaption>
        Predictions at a time over the last 24 hours, as it reported: <strong>up to {most}</strong>.
        It has {slots === 1 ? "1 slot" : `${slots} slots`}.
      </figcaption>
      <Sparkline
        values={running}
        max={Math.max(slots, most, 1)}
        name="Predictions at a time"
        text={String}
      />
      <div class="day" aria-hidden="true">
        <span>24 hours ago</span>
        <span>now</span>
      </div>
    </figure>
  );
}

/** @param gpus how many the machine has: of another number, its history is of other ones */
export function GpuHistory({
  day,
  n,
  gpus,
  value,
  max,
  name,
  unit,
}: {
  day: Day;
  n: number;
  gpus: number;
  value: (gpu: GpuUse) => number;
  max: number;
  name: string;
  unit: "percent" | "gigabytes";
}) {
  const values = (day ?? []).map((step) => {
    const gpu = step?.gpus.length === gpus ? step.gpus[n] : undefined;
    return gpu ? value(gpu) : null;
  });
  return (
    <Sparkline
      values={together(values, unit === "percent" ? mean : highest)}
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
function together(values: (number | null)[], of: (values: number[]) => number): (number | null)[] {
  const groups = Array.from({ length: Math.ceil(values.length / STEPS_TOGETHER) }, (_, n) =>
    values.slice(n * STEPS_TOGETHER, (n + 1) * STEPS_TOGETHER).filter((value) => value !== null),
  );
  return groups.map((group) => (group.length === 0 ? null : of(group)));
}
