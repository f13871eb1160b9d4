/** The chart of usage: a bar for each day, with a part for each model. */
import type { DayUsage, UsageReport } from "../../domain/accounts/usage.ts";
import { scaleMaximum, stack } from "./scale.ts";

/** Sizes in SVG units. The drawing is stretched to fit, so its labels are HTML next to it. */
const HEIGHT = 100;
const STEP = 10;
const BAR = 8;

export function Chart({ report: { days, models, total } }: { report: UsageReport }) {
  const ceiling = scaleMaximum(Math.max(...days.map(({ predictions }) => predictions)));
  const width = days.length * STEP;
  const names = models.map(({ model }) => model ?? "other models");
  return (
    <figure class="chart">
      <div class="y-axis" aria-hidden="true">
        {[ceiling, ceiling / 2, 0].map((value) => (
          <span>{value.toLocaleString("en")}</span>
        ))}
      </div>
      <svg
        viewBox={`0 0 ${width} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-labelledby="chart-title chart-text"
      >
        <title id="chart-title">Predictions per day and model</title>
        <desc id="chart-text">
          {`${total.predictions.toLocaleString("en")} predictions from ${days[0]?.day} to ${days.at(-1)?.day}, most of them by ${names[0]}. The tables below list all numbers.`}
        </desc>
        {[0, HEIGHT / 2, HEIGHT].map((y) => (
          <line x1="0" x2={width} y1={y} y2={y} />
        ))}
        {days.map((day, n) => (
          <Bar day={day} names={names} ceiling={ceiling} x={n * STEP + (STEP - BAR) / 2} />
        ))}
      </svg>
      <div class="bar spread x-axis" aria-hidden="true">
        {[days[0], days[Math.floor((days.length - 1) / 2)], days.at(-1)].map((day) => (
          <span>{day?.day}</span>
        ))}
      </div>
    </figure>
  );
}

const Bar = ({
  day: { day, predictions, models },
  names,
  ceiling,
  x,
}: {
  day: DayUsage;
  names: string[];
  ceiling: number;
  x: number;
}) =>
  predictions === 0 ? null : (
    <g>
      <title>{`${day}: ${models.flatMap((count, n) => (count.predictions > 0 ? `${count.predictions.toLocaleString("en")} ${names[n]}` : [])).join(", ")}`}</title>
      {stack(
        models.map((count) => count.predictions),
        ceiling,
        HEIGHT,
      ).map(({ n, y, height }) => (
        <rect fill={`var(--series-${n})`} x={x} y={y} width={BAR} height={height} />
      ))}
    </g>
  );
