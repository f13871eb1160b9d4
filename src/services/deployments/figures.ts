/** Figures of releases: what their runs of the last days add up to. */
import { accessToAccount, onlyMaker } from "../../domain/accounts/access.ts";
import { lastDays, type ReleaseUsage } from "../../domain/accounts/usage.ts";
import { percentilesOf } from "../../domain/metrics/history.ts";
import type { TimeName } from "../../domain/metrics/measures.ts";
import {
  FIGURE_DAYS,
  type ListedRelease,
  type Release,
  type ReleaseFigures,
} from "../../protocol/deployment.ts";
import { amountText } from "../../protocol/money.ts";
import type { Caller } from "../access/access.ts";
import { findAccount } from "../access/accounts.ts";
import type { Services } from "../services.ts";

/** Adds figures to releases of the caller's account, for a caller who may see its usage. */
export async function withFigures(
  services: Services,
  caller: Caller,
  deployment_id: string,
  releases: Release[],
): Promise<ListedRelease[]> {
  if (accessToAccount(caller, "member") !== "granted")
    return releases.map((release) => ({ ...release, figures: null }));
  const [since = ""] = lastDays(FIGURE_DAYS, Date.now());
  const numbers = releases.map(({ number }) => number);
  const account = releases.length > 0 && (await findAccount(services, caller.user_id));
  const used = account
    ? await account.usageOfReleases({
        ...{ deployment_id, from: since, maker: onlyMaker(caller) },
        ...{ first: Math.min(...numbers), last: Math.max(...numbers) },
      })
    : [];
  const { currency } = services.settings;
  return releases.map((release) => {
    const own = used.find((one) => one.release === release.number);
    return { ...release, figures: { since, ...figuresOf(own ?? NONE), currency } };
  });
}

const NONE = { predictions: 0, failed: 0, cost: 0, measures: {} };

const figuresOf = ({
  predictions,
  failed,
  cost,
  measures,
}: Omit<ReleaseUsage, "release">): Omit<ReleaseFigures, "since" | "currency"> => {
  const seconds = (name: TimeName) => {
    const known = percentilesOf(measures, name);
    return known && { p50: secondsOf(known.p50), p95: secondsOf(known.p95) };
  };
  return {
    ...{ predictions, failed },
    queue_seconds: seconds("queue"),
    setup_seconds: seconds("setup"),
    execution_seconds: seconds("run"),
    cost: amountText(cost),
  };
};

const secondsOf = (ms: number) => Math.round(ms) / 1_000;
