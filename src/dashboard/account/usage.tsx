/** Usage: totals, by model, by access token and by day. */
import {
  type GroupedUsage,
  monthOf,
  tokenName,
  type UsageCount,
  type UsageReport,
} from "../../domain/accounts/usage.ts";
import type { UsageGroup } from "../../protocol/usage.ts";
import type { UserStorage } from "../../protocol/user.ts";
import type { ShownBudgets } from "../budgets/read.ts";
import { Budgets } from "../budgets/section.tsx";
import { Empty } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";
import { Chart } from "./chart.tsx";
import { Cost, Counts, CountTable, isPriced, number, numbersOf } from "./counts.tsx";
import { Storage, Totals } from "./totals.tsx";

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
  table,
  hasMembers,
  storage,
  period,
  hasPrices,
  operator,
  budgets,
}: {
  report: UsageReport;
  table: GroupTable;
  hasMembers: boolean;
  /** Undefined for members of an organization, who see their own runs alone. */
  storage: UserStorage | undefined;
  period: Period;
  /** Whether any hardware has a price. */
  hasPrices: boolean;
  operator: boolean;
  budgets: ShownBudgets;
}) => (
  <>
    <h1>Usage</h1>
    {!storage && <p class="hint">Your own predictions. Developers see those of all members.</p>}
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
        {isPriced(report.total) && <Chart report={report} of="cost" />}
        <Chart report={report} of="predictions" />
        <ByModel report={report} />
        <ByGroup table={table} period={period} total={report.total} hasMembers={hasMembers} />
        <ByDay report={report} />
        <p id="csv">
          <a href={`/account/usage.csv?${period.query}`} download>
            Download as CSV
          </a>{" "}
          by day, version, token, member and hardware
        </p>
      </>
    )}
    <Budgets {...budgets} />
    {storage && (
      <Storage storage={storage}>
        <p class="hint">
          Deleted images count toward storage for <a href="/docs/limits#images">a few more days</a>.
        </p>
      </Storage>
    )}
  </>
);

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

/** The groups that a table can show, by their names in the address of the page. */
export const TABLES = {
  version: "Version",
  token: "Access token",
  member: "Member",
  hardware: "Hardware",
} as const satisfies Partial<Record<UsageGroup, string>>;
export type TableName = keyof typeof TABLES;

export interface GroupTable {
  by: TableName;
  /** The dearest first, or without prices the most used. */
  groups: GroupedUsage[];
  /** Whether there are more. */
  isCut: boolean;
}

const ByGroup = ({
  table: { by, groups, isCut },
  period,
  total,
  hasMembers,
}: {
  table: GroupTable;
  period: Period;
  total: UsageCount;
  hasMembers: boolean;
}) => (
  <>
    <nav class="segments below" aria-label="Group by">
      {readTables(hasMembers).map((name) => (
        <a
          href={`/account/usage?${period.query}&by=${name}#groups`}
          aria-current={name === by ? "page" : undefined}
        >
          {TABLES[name]}
        </a>
      ))}
    </nav>
    <CountTable name={TABLES[by]} id="groups" total={total}>
      {groups.map((group) => (
        <tr>
          <th scope="row">
            <GroupName by={by} group={group} />
          </th>
          <Counts count={group} total={total} />
        </tr>
      ))}
    </CountTable>
    {isCut && <p class="hint">{`The first ${groups.length}. The CSV file has all.`}</p>}
  </>
);

/** A person's own account has no members. */
export const readTables = (hasMembers: boolean): TableName[] => [
  "version",
  "token",
  ...(hasMembers ? (["member"] as const) : []),
  "hardware",
];

function GroupName({ by, group }: { by: TableName; group: GroupedUsage }) {
  const { model = "", version_number, token_id = "", token = "", member, hardware } = group;
  switch (by) {
    case "version":
      return (
        <a href={`/models/${model}/versions/${version_number}`}>
          <Name model={model} />
          {`:${version_number}`}
        </a>
      );
    case "token":
      return <bdi>{tokenName({ token_id, token })}</bdi>;
    case "member":
      return <bdi>{member || "–"}</bdi>;
    case "hardware":
      return <>{hardware}</>;
  }
}

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
