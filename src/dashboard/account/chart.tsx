/** A chart of usage: a bar for each day, with a part for each model. */
import type { DayUsage, UsageReport } from "../../domain/accounts/usage.ts";
import { priceText } from "../../domain/money/price.ts";
import { useCurrency } from "../ui/parts.tsx";
import { scaleMaximum, stack } from "./scale.ts";

/** Sizes in SVG units. The drawing is stretched to fit, so its labels are HTML next to it. */
const HEIGHT = 100;
const STEP = 10;
const BAR = 8;

const MEASURES = { predictions: "Predictions", cost: "Cost" };
type Measure = keyof typeof MEASURES;

/** @param of what the height of a bar is */
export function Chart({
  report: { days, models, total },
  of,
}: {
  report: UsageReport;
  of: Measure;
}) {
  const currency = useCurrency();
  const text = (value: number) =>
    of === "cost" ? priceText(value, currency) : value.toLocaleString("en");
  const ceiling = scaleMaximum(Math.max(...days.map((day) => day[of])));
  const width = days.length * STEP;
  const names = models.map(({ model }) => model ?? "other models");
  const first = models.reduce(
    (most, count, n) => (count[of] > (models[most]?.[of] ?? 0) ? n : most),
    0,
  );
  return (
    <>
      <h2>{MEASURES[of]} by day</h2>
      <figure class="chart">
        <div class="y-axis" aria-hidden="true">
          {[ceiling, ceiling / 2, 0].map((value) => (
            <span>{text(value)}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={`${of}-title ${of}-text`}
        >
          <title id={`${of}-title`}>{MEASURES[of]} per day and model</title>
          <desc id={`${of}-text`}>
            {`${text(total[of])}${of === "predictions" ? " predictions" : ""} from ${days[0]?.day} to ${days.at(-1)?.day}, most of it by ${names[first]}. The tables below list all numbers.`}
          </desc>
          {[0, HEIGHT / 2, HEIGHT].map((y) => (
            <line x1="0" x2={width} y1={y} y2={y} />
          ))}
          {days.map((day, n) => (
            <Bar {...{ day, of, text, names, ceiling }} x={n * STEP + (STEP - BAR) / 2} />
          ))}
        </svg>
        <div class="bar spread x-axis" aria-hidden="true">
          {[days[0], days[Math.floor((days.length - 1) / 2)], days.at(-1)].map((day) => (
            <span>{day?.day}</span>
          ))}
        </div>
      </figure>
    </>
  );
}

const Bar = ({
  day: { day, models },
  of,
  text,
  names,
  ceiling,
  x,
}: {
  day: DayUsage;
  of: Measure;
  text: (value: number) => string;
  names: string[];
  ceiling: number;
  x: number;
}) => {
  const counts = models.map((count) => count[of]);
  const parts = counts.flatMap((count, n) => (count > 0 ? `${text(count)} ${names[n]}` : []));
  if (parts.length === 0) return null;
  return (
    <g>
      <title>{`${day}: ${parts.join(", ")}`}</title>
      {stack(counts, ceiling, HEIGHT).map(({ n, y, height }) => (
        <rect fill={`var(--series-${n})`} x={x} y={y} width={BAR} height={height} />
      ))}
    </g>
  );
};
