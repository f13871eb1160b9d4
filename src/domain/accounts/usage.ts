/** The usage report of an account, by day and model. */

export interface UsageCount {
  predictions: number;
  failed: number;
  execution_ms: number;
  /** Billionths of the currency unit. */
  cost: number;
}

interface ModelUsage extends UsageCount {
  /** The latest `owner/name`; undefined: all other models together. */
  model: string | undefined;
}

interface TokenUsage extends UsageCount {
  /** Empty: the dashboard. */
  token_id: string;
}

export interface DayUsage extends UsageCount {
  /** The day in UTC: `2026-11-21`. */
  day: string;
  models: UsageCount[];
}

export interface UsageReport {
  /** The days, oldest first, including those without predictions. */
  days: DayUsage[];
  /** The models, most used first, the others last. */
  models: ModelUsage[];
  tokens: TokenUsage[];
  total: UsageCount;
  /** The time up to which predictions were deleted early, because the history was full, Unix ms. */
  trimmed_to: number | null;
}

interface NamedModel {
  model_id: string;
  model: string;
}

interface UsageRow extends UsageCount {
  day: string;
  /** Empty: all other models. */
  model_id: string;
}

/** @param names by id; a token that was revoked has none */
export function tokenName(names: ReadonlyMap<string, string>, tokenId: string): string {
  if (tokenId === START_CHECK.token_id) return "Start checks";
  return tokenId === "" ? "Dashboard" : (names.get(tokenId) ?? "Revoked token");
}

/** Runs that only start a version have this in place of their access token. */
export const START_CHECK = { token_id: "start_check", token_name: "Start check" };

const DAY_MS = 86_400_000;

/** Returns the last days including today, oldest first. */
export const lastDays = (days: number, now: number): string[] =>
  Array.from({ length: days }, (_, n) =>
    new Date(now - (days - 1 - n) * DAY_MS).toISOString().slice(0, 10),
  );

export const monthOf = (time: number): string => new Date(time).toISOString().slice(0, 7);

/** Returns the days of a month (`2026-11`) up to today, oldest first. @param month not in the future */
export function daysOfMonth(month: string, now: number): string[] {
  const [year = 0, number = 0] = month.split("-").map(Number);
  // Day 0 of a month is the last day of the month before.
  const last = Math.min(now, Date.UTC(year, number, 0));
  return lastDays(new Date(last).getUTCDate(), last);
}

interface Counted {
  models: NamedModel[];
  rows: UsageRow[];
  tokens: TokenUsage[];
  trimmed_to: number | null;
}

export function usageReport(
  days: string[],
  { models: named, rows, tokens, trimmed_to }: Counted,
): UsageReport {
  const others = rows.some(({ model_id }) => model_id === "");
  const ids = [...named.map(({ model_id }) => model_id), ...(others ? [""] : [])];
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const of = (id: string, all: UsageRow[] = []) => sum(all.filter((row) => row.model_id === id));
  return {
    days: days.map((day) => ({
      day,
      ...sum(byDay.get(day) ?? []),
      models: ids.map((id) => of(id, byDay.get(day))),
    })),
    models: ids.map((id, n) => ({ model: named[n]?.model, ...of(id, rows) })),
    tokens,
    total: sum(rows),
    trimmed_to,
  };
}

const sum = (counts: UsageCount[]): UsageCount => ({
  predictions: total(counts, ({ predictions }) => predictions),
  failed: total(counts, ({ failed }) => failed),
  execution_ms: total(counts, ({ execution_ms }) => execution_ms),
  cost: total(counts, ({ cost }) => cost),
});

const total = (counts: UsageCount[], of: (count: UsageCount) => number) =>
  counts.reduce((all, count) => all + of(count), 0);
