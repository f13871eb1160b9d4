/** The time of a finished prediction, divided among its steps. */
import type { Step } from "../../domain/predictions/timeline.ts";

const SHOWN = new Set<Step["kind"]>(["failed", "queued", "setup", "started"]);
/** Units of the picture. */
const WIDTH = 1000;

export interface BarPart {
  kind: Step["kind"];
  x: number;
  width: number;
}

/**
 * The parts fill the bar: what lies between two steps belongs to none, and a gap at its end would look
 * as if something still went on.
 * @returns none while it runs, and when nothing took any time
 */
export function barParts(steps: Step[]): BarPart[] {
  if (!steps.some(({ kind, state }) => kind === "done" && state === "past")) return [];
  const shown = steps.filter(({ kind }) => SHOWN.has(kind));
  const total = shown.reduce((sum, { seconds }) => sum + (seconds ?? 0), 0);
  if (total === 0) return [];
  let x = 0;
  return shown.map(({ kind, seconds }) => {
    const width = ((seconds ?? 0) / total) * WIDTH;
    x += width;
    return { kind, x: x - width, width };
  });
}

export function Bar({ steps }: { steps: Step[] }) {
  const parts = barParts(steps);
  if (parts.length === 0) return null;
  return (
    <svg
      class="prediction-bar"
      viewBox={`0 0 ${WIDTH} 6`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {parts.map(({ kind, x, width }) => (
        <rect class={kind} x={x.toFixed(1)} y="0" width={width.toFixed(1)} height="6" />
      ))}
    </svg>
  );
}
