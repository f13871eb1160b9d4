/** The sweep of alerts: it begins and ends them, and sends the messages that are due. */
import { v7 as uuid } from "uuid";
import { type AlertRow, changesOf } from "../../domain/alerts/life.ts";
import { listRecent, saveChanges } from "../../storage/alerts/alerts.ts";
import type { Services } from "../services.ts";
import { readFacts } from "./facts.ts";
import { sendMessages } from "./send-messages.ts";

const MINUTE_MS = 60_000;

/** Looks every second minute: each look calls the object of every runner. */
export async function sweepAlerts(services: Services, now: number): Promise<void> {
  if (Math.floor(now / MINUTE_MS) % 2 === 0) await checkAlerts(services, now);
}

export async function checkAlerts(
  services: Services,
  now: number,
  read = readFacts,
): Promise<void> {
  const { db } = services;
  const [rows, facts] = await Promise.all([listRecent(db, now), read(services, now)]);
  const changes = changesOf(rows, facts.holding, facts.unknown, now);
  await saveChanges(db, changes, () => uuid({ msecs: now }), now);
  const dropped = new Set(changes.dropped);
  const ended = new Set(changes.ended);
  const present = rows
    .filter((row) => !dropped.has(row))
    .map((row): AlertRow => (ended.has(row) ? { ...row, ended_at: now } : row));
  await sendMessages(services, present, now);
}
