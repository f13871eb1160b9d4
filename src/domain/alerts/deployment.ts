/** The alerts that are not about the fleet: failing models, webhooks, backups, the database, accounts, tokens. */
import { byteText, count } from "../../lib/text.ts";
import { amountText } from "../../protocol/money.ts";
import type { Levels } from "../metrics/levels.ts";
import type { Alert } from "./rules.ts";

/** Runs from which the share of failures says something. */
const MIN_RUNS = 10;

/** The ends of a model's runs in the last minutes. */
export interface Outcomes {
  /** `owner/name` */
  model: string;
  succeeded: number;
  failed: number;
}

/** @param maxShare of the runs that may fail, 0 to 1 */
export const failureAlerts = (outcomes: Outcomes[], maxShare: number): Alert[] =>
  outcomes
    // Models without a series of their own are counted together, as `other`.
    .filter(({ model }) => model.includes("/"))
    .filter(({ failed, succeeded }) => failed + succeeded >= MIN_RUNS)
    .filter(({ failed, succeeded }) => failed > maxShare * (failed + succeeded))
    .map(({ model, failed, succeeded }) => ({
      rule: "model_failing",
      level: "bad",
      subject: model,
      name: model,
      text: `${failed} of its last ${count(failed + succeeded, "run")} failed.`,
    }));

interface DisabledEndpoint {
  id: string;
  url: string;
  username: string;
  last_error: string | null;
}

/** The path of a URL may be a secret. */
export const endpointAlerts = (endpoints: DisabledEndpoint[]): Alert[] =>
  endpoints.map(({ id, url, username, last_error }) => ({
    rule: "endpoint_disabled",
    level: "warning",
    subject: id,
    name: username,
    text: `The webhook endpoint of ${username} at ${new URL(url).host} was disabled${last_error ? `: ${last_error}` : ""}.`,
  }));

/** How late a backup may begin. */
const LATE_MS = 3_600_000;

/** @param last the backup that is under way, or the last one */
export function backupAlerts(
  last: { started_at: number; ended_at: number | null },
  everyMs: number,
  now: number,
): Alert[] {
  const since = now - last.started_at;
  if (since < everyMs + LATE_MS) return [];
  const hours = Math.floor(since / 3_600_000);
  const text =
    last.ended_at === null
      ? `The backup that began ${count(hours, "hour")} ago has not ended.`
      : `The last backup began ${count(hours, "hour")} ago.`;
  return [{ rule: "backup_overdue", level: "warning", subject: "", name: "", text }];
}

interface Space {
  bytes: number;
  max_bytes: number;
  isNearlyFull: boolean;
}

export const spaceAlerts = ({ bytes, max_bytes, isNearlyFull }: Space): Alert[] =>
  isNearlyFull
    ? [
        {
          rule: "database_full",
          level: bytes >= max_bytes ? "bad" : "warning",
          subject: "",
          name: "",
          text: `${byteText(bytes)} of ${byteText(max_bytes)} used.${bytes >= max_bytes ? " Changes are refused." : ""}`,
        },
      ]
    : [];

/** Accounts with an alert of one rule: people set budgets of their own, which take no other alert's place. */
const MAX_ACCOUNTS = 20;

const WINDOWS = { day: "a day", week: "a week", month: "a month", total: "in total" };

/**
 * Returns the alerts about accounts that are known.
 * @param names usernames by id
 * @param currency a code of ISO 4217
 */
export function accountAlerts(
  watched: Levels[],
  names: ReadonlyMap<string, string>,
  currency: string,
): Alert[] {
  const known = watched.filter(({ user_id }) => names.has(user_id));
  const about = (rule: Alert["rule"], { user_id }: Levels, text: string): Alert => {
    const name = names.get(user_id) ?? "";
    return { rule, level: "warning", subject: user_id, name, text };
  };
  const full = known.flatMap((one) =>
    one.history_percent === null
      ? []
      : [about("history_full", one, `${one.history_percent} % of its space is used.`)],
  );
  const spent = known.flatMap((one) => {
    const exhausted = one.budgets.filter(({ is_exhausted }) => is_exhausted);
    const texts = exhausted.map(({ most, window, scope }) => {
      const whose = scope === "account" ? "" : ` of a ${scope}`;
      return `${amountText(most)} ${currency} ${WINDOWS[window]}${whose}`;
    });
    return texts.length === 0
      ? []
      : [about("budget_exhausted", one, `Used up: ${texts.join("; ")}.`)];
  });
  return [...full.slice(0, MAX_ACCOUNTS), ...spent.slice(0, MAX_ACCOUNTS)];
}

const DAY_MS = 86_400_000;
/** How long before its end a token is reported. */
export const EXPIRING_MS = 7 * DAY_MS;
/** The shortest life of a token that is reported: others are renewed by a program, or used once. */
export const MIN_LIFE_MS = 2 * EXPIRING_MS;

export interface ExpiringToken {
  id: string;
  name: string;
  username: string;
  created_at: number;
  expires_at: number;
}

/** Tokens with a short life are renewed by a program, or used once. */
export const tokenAlerts = (tokens: ExpiringToken[], now: number): Alert[] =>
  tokens
    .filter(({ created_at, expires_at }) => expires_at - created_at >= MIN_LIFE_MS)
    .filter(({ expires_at }) => expires_at > now && expires_at <= now + EXPIRING_MS)
    .map(({ id, name, username, expires_at }) => ({
      rule: "token_expiring",
      level: "warning",
      subject: id,
      name,
      text: `The token “${name}” of ${username} expires on ${new Date(expires_at).toISOString().slice(0, 10)}.`,
    }));
