/** Sends messages about alerts: each at least once, and all that are due in one post, but for PagerDuty. */
import { encodeBase64 } from "hono/utils/encode";
import {
  type AlertRow,
  type MessageKind,
  messageDue,
  messageId,
} from "../../domain/alerts/life.ts";
import {
  discordMessage,
  pagerDutyEvent,
  slackMessage,
  type Told,
  webhookMessage,
} from "../../domain/alerts/messages.ts";
import { signedHeaders } from "../../domain/webhooks/signature.ts";
import { derivedKey, hex } from "../../lib/hex.ts";
import { logger } from "../../log.ts";
import { post } from "../../outbound/post.ts";
import { claimRows, setError, setNotified } from "../../storage/alerts/alerts.ts";
import type { Services } from "../services.ts";

/** Alerts of one sweep. Further ones are told by the next. D1 takes 100 parameters. */
const MAX_TOLD = 50;
/** PagerDuty takes one event in each request. */
const MAX_EVENTS = 20;

export async function sendMessages(
  services: Services,
  rows: AlertRow[],
  now: number,
): Promise<void> {
  const { db, settings } = services;
  const { url, format } = settings.alerts;
  if (url === undefined) return;
  const due = rows.flatMap((row): Told[] => {
    const kind = messageDue(row, now);
    // PagerDuty reminds people itself.
    const isSent = kind !== undefined && !(kind === "reminder" && format === "pagerduty");
    return isSent ? [{ row, kind }] : [];
  });
  const some = due.slice(0, format === "pagerduty" ? MAX_EVENTS : MAX_TOLD);
  if (some.length === 0) return;
  const rowsOf = some.map(({ row }) => row);
  const claimed = new Set(await claimRows(db, rowsOf, now));
  const told = some.filter(({ row }) => claimed.has(row.id));
  const groups = format === "pagerduty" ? told.map((one) => [one]) : [told];
  // At once: in turn, a slow receiver would take longer than the claims last.
  const sent = groups.filter((group) => group.length > 0);
  await Promise.all(sent.map((group) => sendGroup(services, url, group, now)));
}

async function sendGroup(
  services: Services,
  url: string,
  group: Told[],
  now: number,
): Promise<void> {
  const { db, settings } = services;
  const { error } = await post(await requestOf(services, url, group, now), settings.webhooks);
  const idsOf = (isIt: (kind: MessageKind) => boolean) =>
    group.filter(({ kind }) => isIt(kind)).map(({ row }) => row.id);
  if (error !== null) {
    logger.error("Alerts not sent", { count: group.length, error });
    await setError(
      db,
      idsOf(() => true),
      error,
    );
    return;
  }
  await setNotified(
    db,
    idsOf((kind) => kind !== "end"),
    "notified_at",
    now,
  );
  await setNotified(
    db,
    idsOf((kind) => kind === "end"),
    "end_notified_at",
    now,
  );
}

async function requestOf({ settings }: Services, url: string, group: Told[], now: number) {
  const { format, origin = "" } = settings.alerts;
  if (format === "pagerduty") {
    const address = new URL(url);
    const key = address.searchParams.get("routing_key") ?? "";
    address.search = "";
    const events = group.map((one) => pagerDutyEvent(one, key, origin));
    return { url: address.href, headers: {}, body: JSON.stringify(events[0]) };
  }
  if (format === "slack")
    return { url, headers: {}, body: JSON.stringify(slackMessage(group, origin)) };
  if (format === "discord")
    return { url, headers: {}, body: JSON.stringify(discordMessage(group, origin)) };
  const body = JSON.stringify(webhookMessage(group, origin, now));
  const id = await groupId(group);
  const secrets = await alertSecrets(settings.secretKeys);
  return { url, headers: await signedHeaders({ id, at: now, body }, secrets), body };
}

/** Returns an id that a group of messages has each time that it is sent. */
async function groupId(group: Told[]): Promise<string> {
  const ids = group.map(({ row, kind }) => messageId(row, kind)).toSorted();
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(ids.join()));
  return `alerts_${hex(hash).slice(0, 32)}`;
}

/** Returns the secrets that sign messages of the format `webhook`, one for each SECRET_KEY. */
export const alertSecrets = (secretKeys: string[]): Promise<string[]> =>
  Promise.all(
    secretKeys.map(async (key) => `whsec_${encodeBase64(await derivedKey(key, "alerts"))}`),
  );
