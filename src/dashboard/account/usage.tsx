/** Usage: totals, by model, by access token and by day. */
import type { Child, PropsWithChildren } from "hono/jsx";
import {
  type DayUsage,
  monthOf,
  tokenName,
  type UsageCount,
  type UsageReport,
} from "../../domain/accounts/usage.ts";
import type { UserStorage } from "../../protocol/user.ts";
import { duration } from "../ui/duration.ts";
import { Empty, Price } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { scaleMaximum, stack } from "./scale.ts";
import { Storage, Totals } from "./totals.tsx";

/** Sizes in SVG units. The drawing is stretched to fit, so its labels are HTML next to it. */
const HEIGHT = 100;
const STEP = 10;
const BAR = 8;

function Chart({ report: { days, models, total } }: { report: UsageReport }) {
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

export interface Period {
  /** The query of its page and of its CSV file. */
  query: string;
  /** `30 days`, or a month: `2026-11`. */
  name: string;
  /** Oldest first. */
  days: string[];
}

/** The periods that the page links to; another month has an address, too. */
function linkedPeriods(now: number): Pick<Period, "query" | "name">[] {
  const month = monthOf(now);
  const before = monthOf(Date.parse(month) - 1);
  return [
    { query: "days=30", name: "30 days" },
    { query: "days=90", name: "90 days" },
    { query: `month=${month}`, name: "This month" },
    { query: `month=${before}`, name: "Last month" },
  ];
}

export const UsagePage = ({
  report,
  tokens,
  storage,
  period,
  hasPrices,
  operator,
}: {
  report: UsageReport;
  tokens: ReadonlyMap<string, string>;
  storage: UserStorage;
  period: Period;
  /** Whether any hardware has a price. */
  hasPrices: boolean;
  operator: boolean;
}) => (
  <>
    <h1>Usage</h1>
    {report.trimmed_to !== null && (
      <p>
        The history is full. Predictions up to{" "}
        {new Date(report.trimmed_to).toISOString().slice(0, 10)} were deleted. Usage still includes
        them.
      </p>
    )}
    <nav class="segments below" aria-label="Period">
      {linkedPeriods(Date.now()).map(({ query, name }) => (
        <a
          href={`/account/usage?${query}`}
          aria-current={query === period.query ? "page" : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
    {report.total.predictions === 0 ? (
      <Empty
        title={`No predictions in ${period.query.startsWith("days") ? "the last " : ""}${period.name}`}
      >
        <p>
          Predictions are counted when they finish. <a href="/models">Find a model</a> and try it in
          its playground.
        </p>
      </Empty>
    ) : (
      <>
        <Totals {...report.total} />
        {!hasPrices && !isPriced(report.total) && (
          <p class="hint">
            No prices are set. An operator can set them under{" "}
            {operator ? <a href="/fleet/hardware">Fleet → Hardware</a> : "Fleet → Hardware"}.
          </p>
        )}
        <Chart report={report} />
        <ByModel report={report} />
        <ByToken report={report} names={tokens} />
        <ByDay report={report} />
        <p id="csv">
          <a href={`/account/usage.csv?${period.query}`} download>
            Download as CSV
          </a>{" "}
          by day, model and token
        </p>
      </>
    )}
    <Storage storage={storage}>
      <p class="hint">
        Deleted images count toward storage for <a href="/docs/limits#images">a few more days</a>.
      </p>
    </Storage>
  </>
);

/** A price is shown only where hardware has one. */
const isPriced = ({ cost }: UsageCount) => cost > 0;

const Cost = (count: UsageCount) => (isPriced(count) ? <Price value={count.cost} /> : <>–</>);

const number = (value: number) => value.toLocaleString("en");

const ByModel = ({ report: { models, total } }: { report: UsageReport }) => (
  <CountTable name="Model" total={total}>
    {models.map(({ model, ...count }, n) => (
      <tr>
        <th scope="row">
          <svg class="swatch" aria-hidden="true">
            <rect fill={`var(--series-${n})`} width="100%" height="100%" />
          </svg>
          {model === undefined ? (
            "Other models"
          ) : (
            <a href={`/models/${model}`}>
              <Name model={model} />
            </a>
          )}
        </th>
        <Counts count={count} total={total} />
      </tr>
    ))}
  </CountTable>
);

const ByToken = ({
  report: { tokens, total },
  names,
}: {
  report: UsageReport;
  names: ReadonlyMap<string, string>;
}) => (
  <CountTable name="Access token" total={total}>
    {tokens.map(({ token_id, ...count }) => (
      <tr>
        <th scope="row">
          <bdi>{tokenName(names, token_id)}</bdi>
        </th>
        <Counts count={count} total={total} />
      </tr>
    ))}
  </CountTable>
);

/** @param name what each row is */
const CountTable = ({
  name,
  total,
  children,
}: PropsWithChildren<{ name: string; total: UsageCount }>) => (
  <>
    <h2>By {name.toLowerCase()}</h2>
    <div class="scroll">
      <Table
        class="counts"
        columns={[name, ...numbersOf(["Predictions", "Failed", "Execution time"], total)]}
      >
        {children}
      </Table>
    </div>
  </>
);

/** @param total whose price, if there is one, is the last column */
const numbersOf = (names: Child[], total: UsageCount): Column[] =>
  [...names, ...(isPriced(total) ? ["Cost"] : [])].map((name) => ({ name, is: "number" }));

const Counts = ({ count, total }: { count: UsageCount; total: UsageCount }) => (
  <>
    <td class="number">{number(count.predictions)}</td>
    <td class="number">{number(count.failed)}</td>
    <td class="number">{duration(count.execution_ms / 1_000)}</td>
    {isPriced(total) && (
      <td class="number">
        <Cost {...count} />
      </td>
    )}
  </>
);

/** The model's name with a line break opportunity after the owner. */
function Name({ model }: { model: string }) {
  const [owner, name] = model.split("/");
  return (
    <>
      {owner}/<wbr />
      {name}
    </>
  );
}

const modelColumn = ({ model }: UsageReport["models"][number]): Column => ({
  name: model === undefined ? "Other" : <Name model={model} />,
  is: "number",
});

/** Newest first, without days that have no predictions. */
const ByDay = ({ report: { days, models, total } }: { report: UsageReport }) => (
  <>
    <h2 id="days-title">By day</h2>
    <p class="hint">Predictions by the day they finished. Days start at midnight UTC.</p>
    <section class="scroll" tabindex={0} aria-labelledby="days-title">
      <Table
        class="by-day"
        columns={["Day", ...numbersOf(["Total", "Failed"], total), ...models.map(modelColumn)]}
      >
        {days
          .filter(({ predictions }) => predictions > 0)
          .toReversed()
          .map(({ day, models: counts, ...count }) => (
            <tr>
              <th scope="row">{day}</th>
              <td class="number">{number(count.predictions)}</td>
              <td class="number">{number(count.failed)}</td>
              {isPriced(total) && (
                <td class="number">
                  <Cost {...count} />
                </td>
              )}
              {counts.map(({ predictions }) => (
                <td class="number">{number(predictions)}</td>
              ))}
            </tr>
          ))}
      </Table>
    </section>
  </>
);
