/** The status of the deployment: GET /v1/status and the page /status. */
import { createExecutionContext, evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { RULES } from "../../../src/domain/alerts/rules.ts";
import type { Bindings } from "../../../src/env.ts";
import { readStatus as readInObject } from "../../../src/objects/metrics/status.ts";
import { type StatusReport, statusReport } from "../../../src/protocol/status.ts";
import { getServices } from "../../../src/services/services.ts";
import { readStatus } from "../../../src/services/status.ts";
import worker from "../../../src/worker.ts";
import { ORIGIN } from "../support/client.ts";
import { newOperator } from "../support/dashboard-users.ts";
import { metricsObject } from "../support/metrics.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";
import { newUser, newWorld, operator, unique } from "../support/world.ts";

const DAY = 86_400_000;
const open = (anonymous: string): Bindings =>
  Object.assign({}, env, { STATUS: "public", ANONYMOUS: anonymous });

/** Asks a deployment whose status is public, as an isolate that has just started. */
async function ask(
  path: string,
  headers: Record<string, string> = {},
  bindings = open("models"),
): Promise<Response> {
  await evictDurableObject(metricsObject()).catch(() => undefined);
  const request = new Request<unknown, IncomingRequestCfProperties>(ORIGIN + path, { headers });
  return worker.fetch(request, bindings, createExecutionContext());
}

const read = async (): Promise<StatusReport> =>
  statusReport.parse(await (await ask("/v1/status")).json());

interface Row {
  rule: string;
  subject?: string;
  level?: string;
  since: number;
  ended_at: number | null;
}

async function addAlert({ rule, subject = crypto.randomUUID(), level = "bad", ...times }: Row) {
  const name = unique("a-name-of-nobodys-business");
  await env.DB.prepare(
    `INSERT INTO alerts (id, rule, subject, name, level, text, since, ended_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
    .bind(crypto.randomUUID(), rule, subject, name, level, name, times.since, times.ended_at)
    .run();
}

test("only operators read the status, unless it is public", async () => {
  const nobody = new Visitor();
  expect((await nobody.look("/status")).location).toBe("/sign-in?next=%2Fstatus");
  const { client } = await newUser();
  expect((await client.fetch("/v1/status")).status).toBe(403);
  const one = await newOperator();
  const page = await one.visitor.look("/status");
  expect([page.status, page.headers.get("cache-control")]).toEqual([200, "no-store"]);
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  statusReport.parse(await (await operator.fetch("/v1/status")).json());
});

test.each(["models", "none"])(
  "everybody reads a public status, where ANONYMOUS is %s, and other sites may show it",
  async (anonymous) => {
    const bindings = open(anonymous);
    const visits: Record<string, string>[] = [{}, { cookie: "__Host-auspex.session_token=a.b" }];
    for (const headers of visits) {
      const api = await ask("/v1/status", { origin: "https://example.com", ...headers }, bindings);
      expect(api.status).toBe(200);
      expect(api.headers.get("access-control-allow-origin")).toBe("*");
      const page = await ask("/status", { accept: "text/html", ...headers }, bindings);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("Status")]);
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors *");
      expect(page.headers.get("x-frame-options")).toBeNull();
      for (const { headers } of [api, page]) {
        expect(headers.get("cache-control")).toBe("public, max-age=30");
        expect(headers.get("set-cookie")).toBeNull();
      }
    }
    const other = await ask("/sign-in", { accept: "text/html" }, bindings);
    expect(other.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  },
);

test("the status names nothing that alerts are about but hardware classes", async () => {
  const hardware = unique("gpu");
  const now = Date.now();
  for (const rule of Object.keys(RULES))
    for (const level of ["bad", "warning"])
      for (const ended_at of [null, now - 3_600_000])
        await addAlert({
          rule,
          level,
          ...(rule === "no_runner" && level === "bad" && { subject: hardware }),
          ...{ since: now - 7_200_000, ended_at },
        });
  const report = await read();
  const text = JSON.stringify(report);
  expect(text).not.toContain("a-name-of-nobodys-business");
  const { results } = await env.DB.prepare(
    "SELECT subject FROM alerts WHERE rule NOT IN ('no_runner', 'long_wait') AND subject != ''",
  ).all<{ subject: string }>();
  for (const { subject } of results) expect(text).not.toContain(subject);
  const page = await (await ask("/status", { accept: "text/html" })).text();
  expect(page).not.toContain("a-name-of-nobodys-business");
  expect(report.status).toBe("degraded");
  expect(report.incidents.filter(({ component }) => component.endsWith(hardware))).toEqual([
    expect.objectContaining({ title: "No runner available", ended_at: null }),
  ]);
  expect([...new Set(report.incidents.map(({ title }) => title))].toSorted()).toEqual([
    "Changes refused",
    "Long waits",
    "No runner available",
    "Reduced capacity",
  ]);
  await env.DB.prepare("DELETE FROM alerts WHERE name LIKE 'a-name-of%'").run();
});

test("an incident is shown for 90 days after its end, and not before it has held for two minutes", async () => {
  const [kept, gone, fresh] = [unique("kept"), unique("gone"), unique("fresh")];
  const now = Date.now();
  const ended = (ago: number) => ({ since: now - ago - 600_000, ended_at: now - ago });
  await addAlert({ rule: "long_wait", subject: kept, ...ended(90 * DAY - 60_000) });
  await addAlert({ rule: "long_wait", subject: gone, ...ended(90 * DAY + 60_000) });
  await addAlert({ rule: "long_wait", subject: fresh, since: now - 60_000, ended_at: null });
  const text = JSON.stringify((await read()).incidents);
  expect([kept, gone, fresh].map((subject) => text.includes(subject))).toEqual([
    true,
    false,
    false,
  ]);
});

test("a hardware class has the state of its runners, without their number", async () => {
  const world = await newWorld();
  const state = async () => {
    const { components } = await read();
    return components.find(({ id }) => id === `hardware/${world.hardware}`)?.state;
  };
  expect(await state()).toBe("no_runners");
  const runner = await world.runner(1);
  const polling = runner.work();
  await expect.poll(state).toBe("operational");
  await world.waiting();
  await polling;
  await expect.poll(state).toBe("busy");
});

test("an isolate asks again after 30 seconds, and once for all who wait", async () => {
  stopClock();
  try {
    let asked = 0;
    const METRICS = new Proxy(env.METRICS, {
      get: (namespace, name) => {
        if (name === "getByName") asked += 1;
        const member: unknown = Reflect.get(namespace, name);
        return typeof member === "function" ? member.bind(namespace) : member;
      },
    });
    const services = getServices(Object.assign({}, env, { METRICS }));
    await readStatus(services);
    advance(29);
    await readStatus(services);
    expect(asked).toBe(1);
    advance(2);
    await Promise.all([1, 2, 3].map(() => readStatus(services)));
    expect(asked).toBe(2);
  } finally {
    startClock();
  }
});

test("the control plane is unavailable while D1 does not answer, and what was known stays", async () => {
  const hardware = unique("gpu");
  await addAlert({ rule: "long_wait", subject: hardware, since: Date.now() - DAY, ended_at: null });
  const last = await read();
  const DB = new Proxy(env.DB, {
    get: () => () => {
      throw new Error("no database");
    },
  });
  const report = await readInObject(Object.assign({}, env, { DB }), last);
  expect(report).toMatchObject({ status: "down", incidents: last.incidents });
  const [first, ...others] = report.components;
  expect(first).toMatchObject({ id: "control_plane", state: "unavailable" });
  expect(new Set(others.map(({ state }) => state))).toEqual(new Set(["unknown"]));
  await env.DB.prepare("DELETE FROM alerts WHERE subject = ?").bind(hardware).run();
});
