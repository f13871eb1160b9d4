/** `auspex whoami` and `auspex usage`: the account that the token belongs to. */
import { priceText } from "../../domain/money/price.ts";
import { amountOf } from "../../protocol/money.ts";
import { ownerName, user, userUsage } from "../../protocol/user.ts";
import { type Host, newServiceCommand, openService } from "../session.ts";
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
  newServiceCommand("usage", "Show this month's runs, cost and storage").action(async (options) => {
    const { service, output } = await openService(host, options);
    const usage = await service.get("/user/usage", userUsage);
    const { since, currency, models, ...total } = usage.month;
    // The total is 0 where no hardware has a price.
    const hasCosts = total.cost !== "0";
    const rowOf = (model: string, { predictions, failed, execution_seconds, cost }: Runs) => [
      model,
      predictions.toLocaleString("en"),
      failed.toLocaleString("en"),
      formatDuration(execution_seconds),
      // Hardware without a price has no cost.
      ...(hasCosts ? [cost === "0" ? "" : priceText(amountOf(cost) ?? 0, currency)] : []),
    ];
    const rows = models.map(({ model, ...runs }) => rowOf(model ?? "other models", runs));
    const storage = ([name, { bytes, max_bytes }]: [string, Space]) =>
      `${name}  ${formatBytes(bytes)} of ${formatBytes(max_bytes)}`;
    const text = [
      `Since ${since} (UTC)`,
      table(hasCosts ? [...HEAD, "COST"] : HEAD, [...rows, rowOf("total", total)]),
      ...(hasCosts || total.execution_seconds === 0 ? [] : [NO_PRICES]),
      "",
      ...Object.entries({ files: usage.files, images: usage.images }).map(storage),
    ];
    output.result(text.join("\n"), usage);
  });

const HEAD = ["MODEL", "RUNS", "FAILED", "TIME"];
const NO_PRICES =
  "No prices are set for the hardware, so costs are unknown. An operator can set them under Fleet → Hardware.";

type Usage = ReturnType<typeof userUsage.parse>;
type Runs = Pick<Usage["month"], "predictions" | "failed" | "execution_seconds" | "cost">;
type Space = Usage["files"];
