/** `/usage`: the usage of all accounts, for operators. */
import { daysOfMonth, lastDays, monthOf, type UsageCount } from "../../domain/accounts/usage.ts";
import type { DeploymentGroup } from "../../protocol/usage.ts";
import { csvResponse } from "../../routes/accounts/usage.ts";
import {
  deploymentCsv,
  getDeploymentGroups,
  getDeploymentUsage,
} from "../../services/accounts/deployment-usage.ts";
import { rangeOf } from "../../services/accounts/usage.ts";
import { MAX_DAYS } from "../../services/accounts/usage-groups.ts";
import { requireOperator } from "../access.ts";
import { Counts, CountTable } from "../account/counts.tsx";
import { Totals } from "../account/totals.tsx";
import { type PageContext, pages } from "../context.ts";
import { Submit } from "../ui/fields.tsx";
import { Empty } from "../ui/parts.tsx";

const TABLES = { account: "Account", day: "Day", month: "Month" } as const satisfies Record<
  DeploymentGroup,
  string
>;
const GROUPS = ["account", "day", "month"] as const;

/** Rows of the table: more than there are days. */
const TABLE_ROWS = 500;

/** All days that a report can have, in place of a month. */
const ALL = "all";

interface Selection {
  /** `2026-11`, or `all`. */
  month: string;
  by: DeploymentGroup;
}

type Usage = Awaited<ReturnType<typeof getDeploymentGroups>>;

const UsageOfAllPage = ({
  month,
  by,
  months,
  usage: { groups, total },
}: Selection & { months: string[]; usage: Usage }) => (
  <>
    <h1>Usage of all accounts</h1>
    <p class="hint">
      Predictions by the day (UTC) they finished. Accounts report their usage within some 5 minutes.
    </p>
    <search>
      <form method="get" action="/usage" class="bar filter-bar">
        <select name="month" aria-label="Month">
          {months.map((name) => (
            <option selected={name === month}>{name}</option>
          ))}
          <option value={ALL} selected={month === ALL}>{`Last ${MAX_DAYS} days`}</option>
        </select>
        <input type="hidden" name="by" value={by} />
        <Submit kind="quiet">Show</Submit>
      </form>
    </search>
    {total.predictions === 0 ? (
      <Empty title="No predictions in this period">
        <p>Predictions are counted when they finish.</p>
      </Empty>
    ) : (
      <>
        <Totals {...total} />
        <nav class="segments below" aria-label="Group by">
          {GROUPS.map((name) => (
            <a
              href={`/usage?${new URLSearchParams({ month, by: name })}`}
              aria-current={name === by ? "page" : undefined}
            >
              {TABLES[name]}
            </a>
          ))}
        </nav>
        <CountTable name={TABLES[by]} total={total}>
          {groups.slice(0, TABLE_ROWS).map((group) => (
            <tr>
              <th scope="row">
                <GroupName group={group} />
              </th>
              <Counts count={group} total={total} />
            </tr>
          ))}
        </CountTable>
        {groups.length > TABLE_ROWS && (
          <p class="hint">{`The first ${TABLE_ROWS}. The CSV file has all.`}</p>
        )}
        <p>
          <a href={`/usage.csv?${new URLSearchParams({ month, by })}`} download>
            Download as CSV
          </a>{" "}
          by {by}
        </p>
      </>
    )}
  </>
);

function GroupName({ group }: { group: UsageCount & Usage["groups"][number] }) {
  const { day, month, account_id, account } = group;
  if (account_id === undefined) return <>{day ?? month}</>;
  return account == null ? <code>{account_id}</code> : <a href={`/users/${account}`}>{account}</a>;
}

/** Returns what the address asks for, and the days that it means, oldest first. */
function selectionOf(c: PageContext, now: number): Selection & { days: string[] } {
  const by = GROUPS.find((name) => name === c.req.query("by")) ?? "account";
  const asked = c.req.query("month") ?? "";
  if (asked === ALL) return { month: ALL, by, days: lastDays(MAX_DAYS, now) };
  const month = monthsOf(now).find((name) => name === asked) ?? monthOf(now);
  return { month, by, days: daysOfMonth(month, now) };
}

/** Returns the months that a report of all days has, the latest first. */
const monthsOf = (now: number): string[] => [
  ...new Set(
    lastDays(MAX_DAYS, now)
      .map((day) => day.slice(0, 7))
      .reverse(),
  ),
];

export const deploymentUsagePages = pages()
  .get("/usage", requireOperator, async (c) => {
    const now = Date.now();
    const { days, ...selection } = selectionOf(c, now);
    const usage = await getDeploymentGroups(c.var.services, days, {
      ...{ by: selection.by, limit: TABLE_ROWS + 1 },
    });
    const page = <UsageOfAllPage {...selection} months={monthsOf(now)} usage={usage} />;
    return c.render(page, { title: "Usage of all accounts" });
  })
  .get("/usage.csv", requireOperator, async (c) => {
    const { days, by } = selectionOf(c, Date.now());
    const usage = await getDeploymentUsage(c.var.services, { ...rangeOf(days), group_by: by });
    return csvResponse(usage, deploymentCsv(usage));
  });
