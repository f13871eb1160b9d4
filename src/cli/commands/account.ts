/** `auspex whoami` and `auspex usage`: the account that the token belongs to. */
import { z } from "zod";
import { priceText } from "../../domain/money/price.ts";
import { amountOf } from "../../protocol/money.ts";
import {
  type Usage as GroupedUsage,
  groupedUsage,
  USAGE_GROUPS,
  type UsageGroup,
} from "../../protocol/usage.ts";
import { ownerName, user, userUsage } from "../../protocol/user.ts";
import { Misuse } from "../failure.ts";
import { choice, dayOption } from "../options.ts";
import { type Host, newServiceCommand, openService, type ServiceSession } from "../session.ts";
import { table } from "../ui/output.ts";
import { formatBytes, formatDuration } from "../ui/progress.ts";
import { organizations } from "./organizations.ts";

export const whoamiCommand = (host: Host) =>
  newServiceCommand("whoami", "Show the account you are logged in to").action(async (options) => {
    const { service, access, output } = await openService(host, options);
    const account = await service.get("/user", user);
    const { url } = access;
    const [username, { kind }] = [ownerName(account), account];
    // The token of an organization lists that organization alone, with the role that it acts with.
    const [own] = kind === "organization" ? await service.get("/organizations", organizations) : [];
    const role = own?.role ?? null;
    const acting = role === null ? "" : ` (organization, your role: ${role})`;
    output.result(`${username}${acting} at ${url}`, { username, url, kind, role });
  });

export const usageCommand = (host: Host) =>
  newServiceCommand(
    "usage",
    "Show this month's runs, cost and storage, or usage by day, token and more",
  )
    .option("--by <group>", `group by ${USAGE_GROUPS.join(", ")}`, choice(USAGE_GROUPS))
    .option(
      "--from <day>",
      "first day in UTC, as 2026-11-01 (default: the first of this month)",
      dayOption,
    )
    .option("--to <day>", "last day in UTC (default: today)", dayOption)
    .option("--csv", "print CSV")
    .action(async ({ by, from, to, csv = false, ...options }) => {
      const session = await openService(host, options);
      if (by || from || to || csv) {
        if (csv && options.json) throw new Misuse("Use --csv or --json, not both.");
        return showGroups(session, { group_by: by ?? "model", from, to }, csv);
      }
      const { service, output } = session;
      const usage = await service.get("/user/usage", userUsage);
      const { since, currency, models, ...total } = usage.month;
      // The total is 0 where no hardware has a price.
      const hasCosts = total.cost !== "0";
      const row = (model: string, runs: Runs) => [model, ...cellsOf(runs, currency, hasCosts)];
      const rows = models.map(({ model, ...runs }) => row(model ?? "other models", runs));
      const storage = ([name, { bytes, max_bytes }]: [string, Space]) =>
        `${name}  ${formatBytes(bytes)} of ${formatBytes(max_bytes)}`;
      const text = [
        `Since ${since} (UTC)`,
        table(headOf("model", hasCosts), [...rows, row("total", total)]),
        ...(hasCosts || total.execution_seconds === 0 ? [] : [NO_PRICES]),
        "",
        ...Object.entries({ files: usage.files, images: usage.images }).map(storage),
      ];
      output.result(text.join("\n"), usage);
    });

interface Selection {
  group_by: UsageGroup;
  from: string | undefined;
  to: string | undefined;
}

async function showGroups(
  { service, output }: ServiceSession,
  { group_by, from, to }: Selection,
  csv: boolean,
): Promise<void> {
  const path = `/usage?${new URLSearchParams({ group_by, ...(from && { from }), ...(to && { to }) })}`;
  if (csv) return output.write(await service.get(`${path}&format=csv`, z.string(), (text) => text));
  const usage = await service.get(path, groupedUsage);
  const { total, groups, currency } = usage;
  const hasCosts = total.cost !== "0";
  const rows = groups.map((group) => [
    nameIn(group, group_by),
    ...cellsOf(group, currency, hasCosts),
  ]);
  const text = [
    `${usage.from} to ${usage.to} (UTC)`,
    table(headOf(group_by, hasCosts), [...rows, ["total", ...cellsOf(total, currency, hasCosts)]]),
  ];
  output.result(text.join("\n"), usage);
}

function nameIn(group: GroupedUsage["groups"][number], by: UsageGroup): string {
  if (by === "version") return `${group.model}:${group.version_number}`;
  return group[by] ?? (by === "token" ? "Dashboard" : "-");
}

/** Hardware without a price has no cost. */
const cellsOf = (
  { predictions, failed, execution_seconds, cost }: Runs,
  currency: string,
  hasCosts: boolean,
) => [
  predictions.toLocaleString("en"),
  failed.toLocaleString("en"),
  formatDuration(execution_seconds),
  ...(hasCosts ? [cost === "0" ? "" : priceText(amountOf(cost) ?? 0, currency)] : []),
];

const headOf = (name: string, hasCosts: boolean) => [
  ...[name.toUpperCase(), "RUNS", "FAILED", "TIME"],
  ...(hasCosts ? ["COST"] : []),
];

const NO_PRICES =
  "No prices are set for the hardware, so costs are unknown. An operator can set them under Fleet → Hardware.";

type Usage = ReturnType<typeof userUsage.parse>;
type Runs = Pick<Usage["month"], "predictions" | "failed" | "execution_seconds" | "cost">;
type Space = Usage["files"];
