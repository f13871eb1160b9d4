/** The messages about alerts, in the formats of their receivers. */
import { oneLine } from "../../lib/text.ts";
import type { AlertMessage } from "../../protocol/alert.ts";
import { type AlertRow, type MessageKind, messageId } from "./life.ts";
import { ruleOf } from "./rules.ts";

/** A message about an alert. */
export interface Told {
  row: AlertRow;
  kind: MessageKind;
}

const EVENTS = { begin: "began", reminder: "reminder", end: "ended" } as const;
const WORDS = { begin: "Began", reminder: "Still holds", end: "Ended" };

/** Lines of a message for people, and the characters of a text in it. */
const MAX_LINES = 15;
const MAX_TEXT = 300;
/** Discord refuses longer messages. */
const DISCORD_CHARS = 2_000;
/** PagerDuty cuts longer summaries. */
const SUMMARY_CHARS = 1_024;

const isoTime = (at: number) => new Date(at).toISOString();

/** Returns what an alert is, for the API and for messages. @param origin empty: links are paths */
export function describedAlert(row: AlertRow, origin: string) {
  const { title, todo, page } = ruleOf(row.rule);
  const { id, rule, level, subject, name, text, since, ended_at } = row;
  const query = rule === "model_failing" ? `?model=${encodeURIComponent(subject)}` : "";
  return {
    ...{ id, rule, title, subject, name, text, todo },
    severity: level === "bad" ? ("critical" as const) : ("warning" as const),
    url: origin + page + query,
    since: isoTime(since),
    ended_at: ended_at === null ? null : isoTime(ended_at),
  };
}

export const webhookMessage = (all: Told[], origin: string, now: number): AlertMessage => ({
  type: "alerts",
  created_at: isoTime(now),
  alerts: all.map(({ row, kind }) => ({
    ...describedAlert(row, origin),
    message_id: messageId(row, kind),
    event: EVENTS[kind],
  })),
});

/** Slack's incoming webhooks: three characters are escaped, and nothing else begins a mention or a link. */
export function slackMessage(all: Told[], origin: string) {
  const escaped = (text: string) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const line = ({ row, kind }: Told) => {
    const { title, url } = describedAlert(row, origin);
    const named = origin ? `<${url}|${title}>` : title;
    return `${WORDS[kind]}: *${named}*${escaped(detailOf(row, kind))}`;
  };
  return { text: linesOf(all, line).join("\n") };
}

export function discordMessage(all: Told[], origin: string) {
  const line = ({ row, kind }: Told) => {
    const { title, url } = describedAlert(row, origin);
    const named = origin ? `[${title}](<${url}>)` : title;
    return `${WORDS[kind]}: **${named}**${detailOf(row, kind).replaceAll(/[\\*_~`|[\]()<>#]/g, "\\$&")}`;
  };
  const content = oneByOne(linesOf(all, line), DISCORD_CHARS);
  return { content, allowed_mentions: { parse: [] } };
}

/** One event of PagerDuty's Events API v2. Its incident has the id of the alert. */
export function pagerDutyEvent({ row, kind }: Told, routingKey: string, origin: string) {
  const event = { routing_key: routingKey, dedup_key: row.id };
  if (kind === "end") return { ...event, event_action: "resolve" };
  const { title, severity, subject, text, todo, url, since } = describedAlert(row, origin);
  const named = row.name ? `${title}: ${row.name}. ` : `${title}. `;
  return {
    ...event,
    event_action: "trigger",
    client: "Auspex",
    ...(origin && { client_url: `${origin}/alerts`, links: [{ href: url, text: title }] }),
    payload: {
      summary: oneLine(named + text, SUMMARY_CHARS),
      source: origin ? new URL(origin).host : "auspex",
      severity,
      timestamp: since,
      class: row.rule,
      custom_details: { subject, name: row.name, text, todo },
    },
  };
}

function detailOf({ name, text, rule }: AlertRow, kind: MessageKind): string {
  const about = name ? ` (${name})` : "";
  if (kind === "end") return `${about}.`;
  const seen = kind === "reminder" ? "When it began: " : "";
  return `${about}. ${seen}${oneLine(text, MAX_TEXT)} ${ruleOf(rule).todo}`;
}

function linesOf(all: Told[], line: (one: Told) => string): string[] {
  const more = all.length - MAX_LINES;
  return [...all.slice(0, MAX_LINES).map(line), ...(more > 0 ? [`And ${more} more.`] : [])];
}

/** Joins lines as far as they fit. */
function oneByOne(lines: string[], max: number): string {
  const rest = "\n…";
  let text = "";
  for (const line of lines) {
    const longer = text ? `${text}\n${line}` : line;
    if (longer.length > max - rest.length) return text + rest;
    text = longer;
  }
  return text;
}
