/**
 * The life of an alert: it begins when its rule holds for two minutes, is told to operators once, again each day
 * if predictions suffer, and once when it has ended. Messages are sent at least once: a sweep that dies after it
 * has sent one sends it again, with the same id.
 */
import { type Alert, type AlertLevel, type RuleId, ruleOf } from "./rules.ts";

export interface AlertRow {
  id: string;
  rule: RuleId;
  subject: string;
  name: string;
  level: AlertLevel;
  /** The state that the first sweep saw. */
  text: string;
  /** Unix ms, as all times. */
  since: number;
  ended_at: number | null;
  /** When the last message that it holds was sent. */
  notified_at: number | null;
  /** When the message that it has ended was sent. */
  end_notified_at: number | null;
  /** Since when a sweep has been sending a message. */
  claimed_at: number | null;
  /** Why the last message was not sent. */
  error: string | null;
  silenced_until: number | null;
  /** The id of the operator's account; null: the operator's token. */
  silenced_by: string | null;
}

/** A state of less than this is no alert: a break of the network, a cold start, a restart. */
export const HOLD_MS = 120_000;
const REMIND_MS = 86_400_000;
/** A message whose sender died is sent again after this. */
const CLAIM_MS = 180_000;
/** A message about an end is tried for this long. */
const END_NEWS_MS = 86_400_000;
/** Alerts that may hold at once. */
const MAX_OPEN = 200;
/** Alerts of these that people who are no operators can cause. */
const MAX_BY_ACCOUNTS = 100;

/** Rows that ended within this are read: a silence lasts at most as long, and goes on if the alert returns. */
export const RECENT_MS = 7 * 86_400_000;
export const HISTORY_MS = 90 * 86_400_000;

export interface Changes {
  begun: (Alert & Pick<AlertRow, "silenced_until" | "silenced_by">)[];
  ended: AlertRow[];
  /** Rows of states that were too short to be alerts. */
  dropped: AlertRow[];
}

/**
 * Returns what has changed.
 * @param rows that hold, and those that ended lately
 * @param unknown rules and subjects of which nothing is known now: their rows stay
 */
export function changesOf(
  rows: AlertRow[],
  holding: Alert[],
  unknown: ReadonlySet<string>,
  now: number,
): Changes {
  const open = new Map(
    rows.filter(({ ended_at }) => ended_at === null).map((row) => [keyOf(row), row]),
  );
  const held = new Set(holding.map(keyOf));
  const gone = [...open.values()].filter(
    (row) => !held.has(keyOf(row)) && !unknown.has(row.rule) && !unknown.has(row.subject),
  );
  // The last alert of a key says whether it is silenced: an operator may have ended the silence of one before.
  const last = new Map(rows.toSorted((a, b) => a.since - b.since).map((row) => [keyOf(row), row]));
  const isByAccount = ({ rule }: Pick<Alert, "rule">) => ruleOf(rule).byAccounts === true;
  const left = MAX_BY_ACCOUNTS - [...open.values()].filter(isByAccount).length;
  const added = holding.filter((alert) => !open.has(keyOf(alert)));
  const begun = [
    ...added.filter((alert) => !isByAccount(alert)),
    ...added.filter(isByAccount).slice(0, Math.max(0, left)),
  ]
    .slice(0, Math.max(0, MAX_OPEN - open.size))
    .map((alert) => {
      const { silenced_until = null, silenced_by = null } = last.get(keyOf(alert)) ?? {};
      const isSilenced = (silenced_until ?? 0) > now;
      return { ...alert, ...(isSilenced ? { silenced_until, silenced_by } : UNSILENCED) };
    });
  return {
    begun,
    ended: gone.filter((row) => isAlert(row, now)),
    dropped: gone.filter((row) => !isAlert(row, now)),
  };
}

const UNSILENCED = { silenced_until: null, silenced_by: null };

/** A warning that becomes critical ends, and another alert begins: of that operators are told again. */
const keyOf = ({ rule, level, subject }: Pick<Alert, "rule" | "level" | "subject">) =>
  `${rule} ${level} ${subject}`;

/** Whether the rule has held for long enough. */
export const isAlert = ({ since, ended_at }: Pick<AlertRow, "since" | "ended_at">, now: number) =>
  (ended_at ?? now) - since >= HOLD_MS;

export type MessageKind = "begin" | "reminder" | "end";

/** Returns the message that is due for an alert. */
export function messageDue(row: AlertRow, now: number): MessageKind | undefined {
  const { ended_at, notified_at, end_notified_at, claimed_at, silenced_until } = row;
  if (claimed_at !== null && now - claimed_at < CLAIM_MS) return undefined;
  if (ended_at !== null) {
    const isDue = notified_at !== null && end_notified_at === null && now - ended_at < END_NEWS_MS;
    return isDue ? "end" : undefined;
  }
  if (!isAlert(row, now) || (silenced_until ?? 0) > now) return undefined;
  if (notified_at === null) return "begin";
  return row.level === "bad" && now - notified_at >= REMIND_MS ? "reminder" : undefined;
}

/** Returns the id of a message, the same each time that it is sent. */
export const messageId = ({ id, notified_at }: AlertRow, kind: MessageKind): string =>
  kind === "reminder" ? `${id}-reminder-${notified_at}` : `${id}-${kind}`;
