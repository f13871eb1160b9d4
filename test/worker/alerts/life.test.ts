/** Alerts as sweeps begin, tell and end them. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { Alert } from "../../../src/domain/alerts/rules.ts";
import type { AlertFormat } from "../../../src/env-alerts.ts";
import { metricsObject } from "../../../src/objects/stubs/metrics.ts";
import { type AlertMessage, alertMessage } from "../../../src/protocol/alert.ts";
import { readFacts } from "../../../src/services/alerts/facts.ts";
import { alertSecrets } from "../../../src/services/alerts/send-messages.ts";
import { checkAlerts } from "../../../src/services/alerts/sweep-alerts.ts";
import type { Services } from "../../../src/services/services.ts";
import { services } from "../support/accounts.ts";
import { addressOf, exchanged, freshPath, received, script } from "../support/receiver.ts";
import { newWorld } from "../support/world.ts";

const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;
const START = Date.parse("2026-07-01T12:00:00.000Z");

const lost = (): Alert => {
  const subject = crypto.randomUUID();
  return { rule: "runner_lost", level: "bad", subject, name: "rack-1", text: "Offline." };
};

function sweeper(format: AlertFormat, query = "") {
  const path = freshPath();
  const { settings } = services;
  const alerts = { ...settings.alerts, format, url: addressOf(path) + query };
  const those: Services = { ...services, settings: { ...settings, alerts } };
  const sweep = (minute: number, ...holding: Alert[]) =>
    checkAlerts(those, START + minute * MINUTE, async () => ({ holding, unknown: new Set() }));
  return { path, sweep };
}

const messages = async (path: string, count: number): Promise<AlertMessage[]> =>
  (await received(path, count)).map(({ body }) => alertMessage.parse(JSON.parse(body)));

const told = (all: AlertMessage[]) =>
  all.map(({ alerts }) => alerts.map(({ event, subject }) => [event, subject]));

const rowsOf = async (subject: string) => {
  const { results } = await env.DB.prepare("SELECT * FROM alerts WHERE subject = ? ORDER BY since")
    .bind(subject)
    .all();
  return results;
};

test("an alert is told when it has held for two minutes, each day, and when it ends", async () => {
  const { path, sweep } = sweeper("webhook");
  const [first, second] = [lost(), lost()];
  await sweep(0, first);
  expect(await received(path)).toEqual([]);
  await sweep(2, first, second);
  await sweep(4, first, second);
  await sweep(6, first, second);
  await sweep(4 + DAY / MINUTE, first, second);
  await sweep(6 + DAY / MINUTE);
  await sweep(8 + DAY / MINUTE);
  expect(told(await messages(path, 4))).toEqual([
    [["began", first.subject]],
    [["began", second.subject]],
    expect.arrayContaining([
      ["reminder", first.subject],
      ["reminder", second.subject],
    ]),
    expect.arrayContaining([
      ["ended", first.subject],
      ["ended", second.subject],
    ]),
  ]);
  await sweep(10 + 91 * (DAY / MINUTE));
  expect(await rowsOf(first.subject)).toEqual([]);
});

test("a state that ends within two minutes is no alert", async () => {
  const { path, sweep } = sweeper("webhook");
  const alert = lost();
  await sweep(0, alert);
  await sweep(1);
  expect(await rowsOf(alert.subject)).toEqual([]);
  expect(await received(path)).toEqual([]);
});

test("sweeps at the same time begin an alert once, and tell it once", async () => {
  const { path, sweep } = sweeper("webhook");
  const alert = lost();
  await Promise.all([1, 2, 3].map(() => sweep(0, alert)));
  expect(await rowsOf(alert.subject)).toHaveLength(1);
  await Promise.all([1, 2, 3].map(() => sweep(2, alert)));
  await Promise.all([1, 2, 3].map(() => sweep(4)));
  expect(told(await messages(path, 2))).toEqual([
    [["began", alert.subject]],
    [["ended", alert.subject]],
  ]);
});

test("a message that is refused, or whose sender dies, is sent again with the same id", async () => {
  const { path, sweep } = sweeper("webhook");
  const alert = lost();
  await script(path, { status: 500 }, { status: 200 });
  await sweep(0, alert);
  await sweep(2, alert);
  expect(await rowsOf(alert.subject)).toMatchObject([
    { notified_at: null, error: "responded with status 500" },
  ]);
  await sweep(4, alert);
  await sweep(6, alert);
  await sweep(8, alert);
  const requests = await exchanged(path, 2);
  const ids = requests.map(({ headers }) => headers["webhook-id"]);
  expect(ids).toEqual([expect.stringMatching(/^alerts_[0-9a-f]{32}$/), ids[0]]);
  expect(await rowsOf(alert.subject)).toMatchObject([{ error: null, claimed_at: null }]);
  await sweep(10);
});

test("a warning that becomes critical is told again, as an alert of its own", async () => {
  const alert = lost();
  const { path, sweep } = sweeper("webhook");
  for (const minute of [0, 2]) await sweep(minute, { ...alert, level: "warning" });
  for (const minute of [4, 6]) await sweep(minute, alert);
  const all = (await messages(path, 3)).flatMap(({ alerts }) => alerts);
  expect(all.map(({ event, severity }) => [event, severity])).toEqual([
    ["began", "warning"],
    ["ended", "warning"],
    ["began", "critical"],
  ]);
  expect(new Set(all.map(({ id }) => id)).size).toBe(2);
  await sweep(8);
});

test("an alert ends even if very many others have ended within the week", async () => {
  const alert = lost();
  const { path, sweep } = sweeper("webhook");
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1100)
    INSERT INTO alerts (id, rule, subject, name, level, text, since, ended_at)
    SELECT 'many-' || i, 'runner_lost', 'many-' || i, '', 'bad', '', ?1, ?1 + 1 FROM n`,
  )
    .bind(START)
    .run();
  for (const minute of [0, 2]) await sweep(minute, alert);
  await sweep(4);
  await env.DB.prepare("DELETE FROM alerts WHERE id LIKE 'many-%'").run();
  expect(told(await messages(path, 2))).toEqual([
    [["began", alert.subject]],
    [["ended", alert.subject]],
  ]);
});

test("a webhook about alerts is signed with a secret of SECRET_KEY", async () => {
  const { path, sweep } = sweeper("webhook");
  const alert = lost();
  for (const minute of [0, 2]) await sweep(minute, alert);
  const [request] = await exchanged(path);
  const [secret = ""] = await alertSecrets(services.settings.secretKeys);
  const {
    "webhook-id": id,
    "webhook-timestamp": at,
    "webhook-signature": signature,
  } = request?.headers ?? {};
  const raw = Uint8Array.from(atob(secret.slice("whsec_".length)), (one) => one.charCodeAt(0));
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", raw, hmac, false, ["verify"]);
  const mac = Uint8Array.from(atob(String(signature).slice("v1,".length)), (one) =>
    one.charCodeAt(0),
  );
  const signed = new TextEncoder().encode(`${id}.${at}.${request?.body}`);
  expect(await crypto.subtle.verify("HMAC", key, mac, signed)).toBe(true);
  await sweep(4);
});

test("PagerDuty gets an event for each alert, without the routing key in the address", async () => {
  const { path, sweep } = sweeper("pagerduty", "?routing_key=secret-key");
  const [first, second] = [lost(), lost()];
  for (const minute of [0, 2, 2 + DAY / MINUTE]) await sweep(minute, first, second);
  await sweep(4 + DAY / MINUTE, second);
  const requests = await exchanged(path, 3);
  expect(requests.map(({ query }) => query)).toEqual(["", "", ""]);
  const events = requests.map(({ body }) => JSON.parse(body));
  expect(events).toMatchObject([
    { event_action: "trigger", routing_key: "secret-key" },
    { event_action: "trigger", routing_key: "secret-key" },
    { event_action: "resolve", routing_key: "secret-key" },
  ]);
  const opened = events.find(({ payload }) => payload?.custom_details.subject === first.subject);
  expect(events[2].dedup_key).toBe(opened.dedup_key);
  await sweep(6 + DAY / MINUTE);
});

test("messages go to no internal address", async () => {
  const { settings } = services;
  const { webhooks } = settings;
  const alerts = { ...settings.alerts, url: "https://10.0.0.1/hook" };
  const strict = { ...settings, alerts, webhooks: { ...webhooks, allowInsecure: false } };
  const alert = lost();
  const read = async () => ({ holding: [alert], unknown: new Set<string>() });
  for (const minute of [0, 2])
    await checkAlerts({ ...services, settings: strict }, START + minute * MINUTE, read);
  expect(await rowsOf(alert.subject)).toMatchObject([
    { notified_at: null, error: expect.stringContaining("not on the public internet") },
  ]);
});

test("a class without a runner whose prediction waits is a fact, until the prediction ends", async () => {
  const { hardware, client, waiting } = await newWorld();
  const id = await waiting();
  const of = async () =>
    (await readFacts(services, Date.now())).holding.filter(({ subject }) => subject === hardware);
  await expect
    .poll(of)
    .toMatchObject([{ rule: "no_runner", level: "bad", name: hardware, subject: hardware }]);
  await client.cancel(id);
  await expect.poll(of).toEqual([]);
});

test("a model whose runs fail is a fact", async () => {
  const model = `ada/${crypto.randomUUID()}`;
  const labels = { model, version: "1", hardware: "gpu" };
  const counts = { succeeded: 4, "failed:external": 5, "failed:internal": 1, canceled: 3 };
  await metricsObject(env).add([{ family: "predictions", labels, counts }]);
  const { holding } = await readFacts(services, Date.now());
  expect(holding.filter(({ subject }) => subject === model)).toMatchObject([
    { rule: "model_failing", text: "6 of its last 10 runs failed." },
  ]);
  const later = await readFacts(services, Date.now() + 1_800_000);
  expect(later.holding.filter(({ subject }) => subject === model)).toHaveLength(1);
  await runInDurableObject(env.METRICS.getByName("metrics"), (metrics) => metrics.alarm());
  const past = await readFacts(services, Date.now() + 1_800_000);
  expect(past.holding.filter(({ subject }) => subject === model)).toEqual([]);
});

test("an endpoint that the service has disabled and tokens about to expire are facts", async () => {
  const { user_id } = await newWorld();
  const now = Date.now();
  const [endpoint, token, other] = [1, 2, 3].map(() => crypto.randomUUID());
  // Tokens of a day, as a program makes them, take no place of others.
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
    INSERT INTO tokens (id, user_id, name, hash, prefix, scopes, service_role, created_at, expires_at)
    SELECT ?1 || i, ?1, 'short', ?1 || i, '', '["predict"]', 'developer', ?2, ?2 + ?3 FROM n`,
  )
    .bind(user_id, now, DAY / 2)
    .run();
  const expires = (id: unknown, role: string | null) =>
    env.DB.prepare(
      `INSERT INTO tokens (id, user_id, name, hash, prefix, scopes, service_role, created_at, expires_at)
      VALUES (?1, ?2, 'ci', ?1, '', '["predict"]', ?3, 1, ?4)`,
    ).bind(id, user_id, role, now + DAY);
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO webhook_endpoints (id, user_id, url, description, events, secrets, enabled, notice, created_at, updated_at)
      VALUES (?, ?, 'https://example.org/x', '', '[]', '[]', 0, 'disabled', 1, ?)`,
    ).bind(endpoint, user_id, now),
    expires(token, "developer"),
    expires(other, null),
  ]);
  const { holding } = await readFacts(services, now);
  const of = (id: unknown) => holding.filter(({ subject }) => subject === id);
  expect(of(endpoint)).toMatchObject([{ rule: "endpoint_disabled" }]);
  expect(of(token)).toMatchObject([{ rule: "token_expiring", name: "ci" }]);
  expect(of(other)).toEqual([]);
});
