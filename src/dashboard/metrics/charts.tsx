/** Charts of a model's or the deployment's metrics: runs by outcome, and how long their steps took. */
import type { GpuPoint } from "../../domain/metrics/gpus.ts";
import { type Point, SPANS, type Span } from "../../domain/metrics/history.ts";
import type { TimeName } from "../../domain/metrics/measures.ts";
import { scaleMaximum, stack } from "../account/scale.ts";
import { duration } from "../ui/duration.ts";
import { Empty, Tabs } from "../ui/parts.tsx";

/** Sizes in SVG units. The drawing is stretched to fit, so its labels are HTML next to it. */
const HEIGHT = 100;
const STEP = 10;
const BAR = 8;

const OUTCOMES = ["succeeded", "failed", "canceled"] as const;

const STEPS: [TimeName, string][] = [
  ["queue", "Wait"],
  ["setup", "Setup"],
  ["first_output", "First output"],
  ["run", "Run"],
  ["total", "Total"],
];

interface MetricsProps {
  points: Point[];
  span: Span;
  /** The address of the page, with a `?` or `&` at its end. */
  address: string;
}

export const Metrics = ({ points, span, address }: MetricsProps) => {
  const measured = STEPS.filter(([name]) => points.some(({ times }) => times[name]));
  return (
    <>
      <Tabs
        label="Time span"
        current={`${address}span=${span}`}
        tabs={Object.entries(SPANS).map(([key, { name }]) => [
          `${address}span=${key}`,
          `Last ${name}`,
        ])}
      />
      {points.every((point) => runsOf(point) === 0) ? (
        <Empty title={`No predictions ended in the last ${SPANS[span].name}`}>
          <p>Predictions are counted within a minute after they end.</p>
        </Empty>
      ) : (
        <>
          <Runs points={points} span={span} />
          {measured.map(([name, title]) => (
            <Times points={points} span={span} name={name} title={title} />
          ))}
        </>
      )}
    </>
  );
};

const runsOf = (point: Point) => OUTCOMES.reduce((sum, name) => sum + point[name], 0);

const Runs = ({ points, span }: Pick<MetricsProps, "points" | "span">) => {
  const ceiling = scaleMaximum(Math.max(...points.map(runsOf)));
  const total = (name: (typeof OUTCOMES)[number]) =>
    points.reduce((sum, point) => sum + point[name], 0).toLocaleString("en");
  return (
    <Figure
      title="Predictions"
      text={`${total("succeeded")} succeeded, ${total("failed")} failed, ${total("canceled")} canceled.`}
      marks={[ceiling, ceiling / 2, 0].map((value) => value.toLocaleString("en"))}
      points={points}
      span={span}
    >
      {points.map((point, n) => (
        <g>
          <title>{`${timeText(point.at, span)}: ${OUTCOMES.map((name) => `${point[name]} ${name}`).join(", ")}`}</title>
          {stack(
            OUTCOMES.map((name) => point[name]),
            ceiling,
            HEIGHT,
          ).map(({ n: outcome, y, height }) => (
            <rect
              class={`outcome-${OUTCOMES[outcome]}`}
              x={n * STEP + (STEP - BAR) / 2}
              y={y}
              width={BAR}
              height={height}
            />
          ))}
        </g>
      ))}
    </Figure>
  );
};

const Times = ({
  points,
  span,
  name,
  title,
}: Pick<MetricsProps, "points" | "span"> & { name: TimeName; title: string }) => {
  const known = points.flatMap(({ times }) => times[name] ?? []);
  const most = Math.max(...known.map(({ p95 }) => p95), 1);
  const y = (ms: number) => Math.round((1 - ms / most) * HEIGHT * 100) / 100;
  const latest = known.at(-1);
  return (
    <Figure
      title={title}
      text={
        latest
          ? `Latest: half took at most ${duration(latest.p50 / 1_000)} (solid line), 95 % at most ${duration(latest.p95 / 1_000)} (dashed line).`
          : ""
      }
      marks={[most, most / 2, 0].map((ms) => duration(ms / 1_000))}
      points={points}
      span={span}
    >
      {(["p95", "p50"] as const).map((line) =>
        stretchesOf(points.map(({ times }) => times[name])).map((stretch) => (
          <polyline
            class={`line-${line}`}
            points={stretch
              .map(({ n, value }) => `${n * STEP + STEP / 2},${y(value[line])}`)
              .join(" ")}
          />
        )),
      )}
    </Figure>
  );
};

const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Charts of the GPUs of each pool. */
export const Gpus = ({ pools, span }: { pools: GpuPoints[]; span: Span }) =>
  pools
    .filter(({ points }) => points.some(({ busy, memory }) => busy !== null || memory !== null))
    .map(({ pool, points }) => {
      const latest = points.findLast(({ busy, memory }) => busy !== null || memory !== null);
      const { busy = null, memory = null } = latest ?? {};
      const parts = [
        ...(busy === null ? [] : [`busy ${percent(busy)} of the time (solid line)`]),
        ...(memory === null ? [] : [`${percent(memory)} of their memory used (dashed line)`]),
      ];
      return (
        <Figure
          title={`GPUs of ${pool}`}
          text={`Latest: ${parts.join(", ")}.`}
          marks={["100 %", "50 %", "0 %"]}
          points={points}
          span={span}
        >
          {(["memory", "busy"] as const).map((line) =>
            stretchesOf(points.map(({ [line]: share }) => share)).map((stretch) => (
              <polyline
                class={`line-${line}`}
                points={stretch
                  .map(
                    ({ n, value }) => `${n * STEP + STEP / 2},${Math.round((1 - value) * HEIGHT)}`,
                  )
                  .join(" ")}
              />
            )),
          )}
        </Figure>
      );
    });

interface GpuPoints {
  pool: string;
  points: GpuPoint[];
}

/** Returns the stretches of points that have a value: a line does not cross a gap. */
function stretchesOf<Value>(values: (Value | null)[]): { n: number; value: Value }[][] {
  const stretches: { n: number; value: Value }[][] = [];
  for (const [n, value] of values.entries()) {
    if (value === null) continue;
    const last = stretches.at(-1);
    if (last?.at(-1)?.n === n - 1) last.push({ n, value });
    else stretches.push([{ n, value }]);
  }
  // A single point becomes a short line, which can be seen.
  return stretches.map((stretch) =>
    stretch.length > 1 ? stretch : stretch.flatMap((one) => [one, { ...one, n: one.n + 0.3 }]),
  );
}

const Figure = ({
  title,
  text,
  marks,
  points,
  span,
  children,
}: {
  points: { at: number }[];
  span: Span;
  title: string;
  text: string;
  marks: string[];
  children?: unknown;
}) => {
  const width = points.length * STEP;
  const id = title.toLowerCase().replaceAll(" ", "-");
  return (
    <>
      <h2>{title}</h2>
      <p class="quiet">{text}</p>
      <figure class="chart metric">
        <div class="y-axis" aria-hidden="true">
          {marks.map((mark) => (
            <span>{mark}</span>
          ))}
        </div>
        <svg
          viewBox={`0 0 ${width} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={`${id}-title ${id}-text`}
        >
          <title id={`${id}-title`}>{title}</title>
          <desc id={`${id}-text`}>{text}</desc>
          {[0, HEIGHT / 2, HEIGHT].map((y) => (
            <line x1="0" x2={width} y1={y} y2={y} />
          ))}
          {children}
        </svg>
        <div class="bar spread x-axis" aria-hidden="true">
          {[points[0], points[Math.floor((points.length - 1) / 2)], points.at(-1)].map((point) => (
            <span>{point && timeText(point.at, span)}</span>
          ))}
        </div>
      </figure>
    </>
  );
};

/** Returns a time in UTC, as its day for long spans. */
const timeText = (at: number, span: Span): string => {
  const text = new Date(at).toISOString();
  const [day, time] = [text.slice(0, 10), text.slice(11, 16)];
  if (span === "90d") return day;
  return span === "7d" ? day.slice(5) : `${time} UTC`;
};
