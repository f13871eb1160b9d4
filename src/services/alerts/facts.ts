/** The facts that alerts are decided from, in a bounded number of calls: one for each class, pool and runner. */
import {
  accountAlerts,
  backupAlerts,
  EXPIRING_MS,
  endpointAlerts,
  failureAlerts,
  spaceAlerts,
  tokenAlerts,
} from "../../domain/alerts/deployment.ts";
import { fleetAlerts, toldAlerts } from "../../domain/alerts/fleet.ts";
import type { Alert } from "../../domain/alerts/rules.ts";
import { isOffline } from "../../domain/runners/silence.ts";
import { metricsObject } from "../../objects/stubs/metrics.ts";
import { findUsernames } from "../../storage/accounts/users.ts";
import { listDisabledSince, listExpiring } from "../../storage/alerts/alerts.ts";
import { findLastRun } from "../../storage/backups/runs.ts";
import { readDatabaseSpace } from "../access/storage-quota.ts";
import { readFleet } from "../runners/fleet.ts";
import type { Services } from "../services.ts";
import { withTimeout } from "../with-timeout.ts";

/** How long a lost runner and a disabled endpoint are reported. */
const NEWS_MS = 7 * 86_400_000;

/** The time in which runs of a model fail or succeed. */
const OUTCOMES_MS = 900_000;

export interface Facts {
  /** The alerts that hold now. */
  holding: Alert[];
  /** The subjects and rules of which nothing is known now. */
  unknown: Set<string>;
}

export async function readFacts(services: Services, now: number): Promise<Facts> {
  const { db } = services;
  const [fleet, models, accounts, space, backups, endpoints, tokens] = await Promise.all([
    fleetFacts(services, now),
    modelFacts(services, now),
    accountFacts(services),
    readDatabaseSpace(services),
    lateBackups(services, now),
    listDisabledSince(db, now - NEWS_MS),
    listExpiring(db, now, now + EXPIRING_MS),
  ]);
  return {
    // Alerts about the whole deployment come first, since a limited number holds at once.
    holding: [
      ...spaceAlerts(space),
      ...backups,
      ...fleet.holding,
      ...models.holding,
      ...accounts.holding,
      ...endpointAlerts(endpoints),
      ...tokenAlerts(tokens, now),
    ],
    unknown: new Set([...fleet.unknown, ...models.unknown, ...accounts.unknown]),
  };
}

async function fleetFacts(services: Services, now: number): Promise<Facts> {
  const { pools, complete } = await readFleet(services);
  const runners = pools.flatMap((pool) => pool.runners);
  const queues = pools.flatMap(({ classes }) => classes.map(({ queue }) => queue));
  const { longWaitMs } = services.settings.alerts;
  const alerts = fleetAlerts({ runners, queues, complete }, now, { longWaitMs, newsMs: NEWS_MS });
  const silent = runners.filter((one) => one.connected === null && !isOffline(one));
  const unread = queues.filter(({ waiting }) => waiting === null);
  return {
    holding: toldAlerts(alerts),
    unknown: new Set([...silent.map(({ id }) => id), ...unread.map(({ hardware }) => hardware)]),
  };
}

async function modelFacts({ env, settings }: Services, now: number): Promise<Facts> {
  const outcomes = await withTimeout(metricsObject(env).outcomes(now - OUTCOMES_MS), "metrics");
  if (!outcomes) return { holding: [], unknown: new Set(["model_failing"]) };
  return { holding: failureAlerts(outcomes, settings.alerts.maxFailures), unknown: new Set() };
}

async function accountFacts({ db, env, settings }: Services): Promise<Facts> {
  const watched = await withTimeout(metricsObject(env).watched(), "metrics");
  if (!watched) return { holding: [], unknown: new Set(["history_full", "budget_exhausted"]) };
  const ids = watched.map(({ user_id }) => user_id);
  const names = ids.length === 0 ? new Map<string, string>() : await findUsernames(db, ids);
  return { holding: accountAlerts(watched, names, settings.currency), unknown: new Set() };
}

async function lateBackups({ db, settings }: Services, now: number): Promise<Alert[]> {
  if (settings.backupKeys.length === 0) return [];
  const last = await findLastRun(db);
  return last ? backupAlerts(last, settings.backupMs, now) : [];
}
