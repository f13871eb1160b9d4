/** The usage of an account, and its report by day and model. */

import type { UsageGroup } from "../../protocol/usage.ts";
import type { Measures } from "../metrics/measures.ts";

/** The sums of usage. `cached_tokens` are a part of `input_tokens`; `cost` is in billionths of the currency unit. */
export const SUMS = [
  "predictions",
  "failed",
  "execution_ms",
  "setup_ms",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "images",
  "cost",
] as const;

export type UsageCount = Record<(typeof SUMS)[number], number>;

/**
 * The model that ran, who ran it, and the release of a deployment that was named. Names are the latest; those of tokens,
 * members and deployments may be empty.
 */
export interface UsagePlace {
  model_id: string;
  model: string;
  version_number: number;
  token_id: string;
  token: string;
  maker: string;
  member: string;
  hardware: string;
  deployment_id: string;
  deployment: string;
  release: number;
}

/** A group has the columns of what it is grouped by. */
export interface GroupedUsage extends UsageCount, Partial<UsagePlace> {
  day?: string;
  month?: string;
}

/** Days as `2026-11-21`, both included. */
export interface UsageDays {
  from: string;
  to: string;
  /** Only what this maker ran. Undefined: all. */
  maker?: string | undefined;
}

export interface UsageSelection extends UsageDays {
  groups: UsageGroup[];
  limit: number;
}

/** Releases of a deployment by their numbers, both included, since a day. */
export interface ReleaseSelection extends Pick<UsageDays, "from" | "maker"> {
  deployment_id: string;
  first: number;
  last: number;
}

/** The usage of a release without what only starts or probes its containers. */
export interface ReleaseUsage extends Pick<UsageCount, "predictions" | "failed" | "cost"> {
  release: number;
  measures: Measures;
}

interface ModelUsage extends UsageCount {
  /** The latest `owner/name`; undefined: all other models together. */
  model: string | undefined;
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

export const tokenName = ({ token_id, token }: { token_id: string; token: string }): string =>
  token_id === "" ? "Dashboard" : token;

/**
 * The key of a row of usage: what ran on a day with the same version, token, maker, hardware and release of a
 * deployment. So an account has at most as many rows as predictions, and 100 tokens that run 10 versions make 1,000
 * rows a day.
 */
export const USAGE_KEY = [
  ...(["day", "model_id", "version_number", "token_id", "maker", "hardware"] as const),
  ...(["deployment_id", "release"] as const),
];

/** Runs that only start the containers of deployments have this in place of an access token. */
export const WARM_UP = { token_id: "warm_up", token_name: "Deployments" };

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
  trimmed_to: number | null;
}

export function usageReport(
  days: string[],
  { models: named, rows, trimmed_to }: Counted,
): UsageReport {
  const others = rows.some(({ model_id }) => model_id === "");
  const ids = [...named.map(({ model_id }) => model_id), ...(others ? [""] : [])];
  const byDay = Map.groupBy(rows, ({ day }) => day);
  const of = (id: string, all: UsageRow[] = []) =>
    sumUsage(all.filter((row) => row.model_id === id));
  return {
    days: days.map((day) => ({
      day,
      ...sumUsage(byDay.get(day) ?? []),
      models: ids.map((id) => of(id, byDay.get(day))),
    })),
    models: ids.map((id, n) => ({ model: named[n]?.model, ...of(id, rows) })),
    total: sumUsage(rows),
    trimmed_to,
  };
}

export const sumUsage = (counts: UsageCount[]): UsageCount => ({
  predictions: total(counts, "predictions"),
  failed: total(counts, "failed"),
  execution_ms: total(counts, "execution_ms"),
  setup_ms: total(counts, "setup_ms"),
  input_tokens: total(counts, "input_tokens"),
  output_tokens: total(counts, "output_tokens"),
  cached_tokens: total(counts, "cached_tokens"),
  images: total(counts, "images"),
  cost: total(counts, "cost"),
});

const total = (counts: UsageCount[], name: keyof UsageCount) =>
  counts.reduce((all, count) => all + count[name], 0);
