/** A day as a line beside its number. An unknown value is a gap, not a zero. */

/** Height in SVG units, which are stretched to fit. */
const HEIGHT = 20;

export interface SparklineProps {
  /** Oldest first. */
  values: readonly (number | null)[];
  /** The value at the top. */
  max: number;
  /** Name of the line for screen readers: `GPU 1 in use`. */
  name: string;
  text: (value: number) => string;
}

export function Sparkline({ values, max, name, text }: SparklineProps) {
  const known = values.filter((value) => value !== null);
  const latest = known.at(-1);
  if (latest === undefined) return null;
  const label = `${name} over 24 hours: ${text(Math.min(...known))} to ${text(Math.max(...known))}, last known ${text(latest)}`;
  const lines = linesOf(values, max);
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${values.length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <title>{label}</title>
      <path class="below" d={lines.map(areaBelow).join("")} />
      <path
        class="line"
        d={lines.map(({ from, heights }) => `M${from} ${pathOf(from, heights)}`).join("")}
      />
    </svg>
  );
}

interface Line {
  /** The index of its first value. */
  from: number;
  /** From the top. One value is as wide as a step. */
  heights: number[];
}

/** Returns the lines between the gaps. */
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
