/** `auspex login` in a browser: the device code, the page that approves it, and the token. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Bindings } from "../../../src/env.ts";
import type { AuditEvent } from "../../../src/protocol/audit.ts";
import {
  DEVICE_AUTHORIZATION,
  DEVICE_GRANT,
  type DeviceAuthorization,
  type DeviceRefusal,
  type DeviceToken,
  deviceAuthorization,
  deviceToken,
  OAUTH_TOKEN,
} from "../../../src/protocol/device-login.ts";
import type { Token } from "../../../src/protocol/operator.ts";
import { getServices } from "../../../src/services/services.ts";
import { replacePassword } from "../../../src/storage/accounts/sign-in.ts";
import worker from "../../../src/worker.ts";
import { anEntry } from "../support/audit.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { copyVisitor, type DashboardUser, newDashboardUser } from "../support/dashboard-users.ts";
import { sweep } from "../support/queues.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { operator } from "../support/world.ts";

const form = (fields: Record<string, string>) => ({
  method: "POST",
  body: new URLSearchParams(fields),
});

const nobody = new Client(undefined);

const begin = async (device_name = "ada-laptop"): Promise<DeviceAuthorization> => {
  const asked = form({ client_id: "auspex", device_name });
  const response = await nobody.fetch(DEVICE_AUTHORIZATION, asked);
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  return deviceAuthorization.parse(await response.json());
};

async function poll(device_code: string): Promise<[status: number, DeviceToken & DeviceRefusal]> {
  const asked = form({ client_id: "auspex", grant_type: DEVICE_GRANT, device_code });
  const response = await nobody.fetch(OAUTH_TOKEN, asked);
  expect(response.headers.get("cache-control")).toBe("no-store");
  return [response.status, await response.json()];
}

const refused = (error: DeviceRefusal["error"]) => [
  400,
  { error, error_description: expect.stringMatching(/./) },
];

const answer = ({ visitor }: DashboardUser, user_code: string, how: "approve" | "deny") =>
  visitor.send("/device/answer", { user_code, answer: how });

async function approvedBy(person: DashboardUser, name?: string): Promise<DeviceAuthorization> {
  const begun = await begin(name);
  expect((await answer(person, begun.user_code, "approve")).location).toBe("/tokens");
  return begun;
}

async function tokensOf({ username }: DashboardUser): Promise<Token[]> {
  const path = `/v1/operator/users/${username}/tokens`;
  return (await operator.ok<{ items: Token[] }>("GET", path)).items;
}

const rowOf = ({ user_code }: DeviceAuthorization) =>
  env.DB.prepare("SELECT * FROM device_logins WHERE user_code = ?")
    .bind(user_code.replace("-", ""))
    .first();

beforeEach(stopClock);
afterEach(startClock);

describe("a login from a terminal", () => {
  it("a login gives the token of the person who approved it, named after the machine", async () => {
    const person = await newDashboardUser();
    const begun = await begin("ada-laptop");
    expect(begun).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${ORIGIN}/device`,
      expires_in: 600,
      interval: 5,
    });
    expect(await poll(begun.device_code)).toEqual(refused("authorization_pending"));

    const typed = begun.user_code.toLowerCase().replace("-", " ");
    const { status, html } = await person.visitor.send("/device", { user_code: typed });
    expect(status).toBe(200);
    for (const shown of [begun.user_code, "ada-laptop", person.username, "90 days"])
      expect(html).toContain(shown);
    expect(html).not.toContain("operator");
    expect((await answer(person, begun.user_code, "approve")).location).toBe("/tokens");

    advance(5);
    const [code, given] = await poll(begun.device_code);
    expect(code).toBe(200);
    const { access_token, expires_in, scope } = deviceToken.parse(given);
    expect([expires_in, scope]).toEqual([90 * 86_400, "read write predict"]);
    expect(access_token).toMatch(/^aus_/);
    const client = new Client(access_token);
    expect(await client.ok("GET", "/v1/user")).toMatchObject({ username: person.username });
    const [made] = await tokensOf(person);
    expect(made).toMatchObject({
      name: "auspex on ada-laptop",
      scopes: ["read", "write", "predict"],
      models: null,
      expires_at: new Date(Date.now() + 90 * 86_400_000).toISOString(),
    });
    const { items } = await person.client.ok<{ items: AuditEvent[] }>(
      "GET",
      "/v1/audit_events?action=token.created",
    );
    expect(items[0]).toMatchObject({
      actor: { type: "user", id: person.user_id, name: person.username },
      targets: [{ type: "token", id: made?.id, name: "auspex on ada-laptop" }],
    });
    const list = await person.visitor.look("/tokens");
    expect(list.html).toContain("auspex on ada-laptop");
    await person.visitor.send(`/tokens/${made?.id}/revoke`);
    expect((await client.fetch("/v1/user")).status).toBe(401);
  });

  it("the command gets an access token, and no session", async () => {
    const person = await newDashboardUser();
    const sessions = () => env.DB.prepare("SELECT count(*) AS n FROM sessions").first("n");
    const before = await sessions();
    const { device_code } = await approvedBy(person);
    const asked = form({ client_id: "auspex", grant_type: DEVICE_GRANT, device_code });
    const response = await nobody.fetch(OAUTH_TOKEN, asked);
    expect(response.status).toBe(200);
    await response.text();
    expect(response.headers.getSetCookie()).toEqual([]);
    expect(await sessions()).toBe(before);
  });

  it("a code gives one token, also to many polls at once", async () => {
    const person = await newDashboardUser();
    const before = (await tokensOf(person)).length;
    const { device_code } = await approvedBy(person);
    const answers = await Promise.all(Array.from({ length: 8 }, () => poll(device_code)));
    expect(answers.filter(([status]) => status === 200)).toHaveLength(1);
    for (const one of answers.filter(([status]) => status !== 200))
      expect(one).toEqual(refused("invalid_grant"));
    expect(await poll(device_code)).toEqual(refused("invalid_grant"));
    expect(await tokensOf(person)).toHaveLength(before + 1);
  });

  it("polls that come too early, and all but one of many at once, are told to slow down", async () => {
    const { device_code } = await begin();
    const errors = async (polls: number) =>
      (await Promise.all(Array.from({ length: polls }, () => poll(device_code))))
        .map(([, { error }]) => error)
        .sort();
    expect(await errors(3)).toEqual(["authorization_pending", "slow_down", "slow_down"]);
    advance(4);
    expect(await errors(1)).toEqual(["slow_down"]);
    advance(1);
    expect(await errors(1)).toEqual(["authorization_pending"]);
  });

  it("a denied login gives no token, and the first answer counts", async () => {
    const [person, other] = [await newDashboardUser(), await newDashboardUser()];
    const denied = await begin();
    expect((await answer(person, denied.user_code, "deny")).location).toBe("/device");
    expect((await answer(other, denied.user_code, "approve")).status).toBe(404);
    expect(await poll(denied.device_code)).toEqual(refused("access_denied"));

    const approved = await approvedBy(person);
    for (const how of ["approve", "deny"] as const)
      expect((await answer(other, approved.user_code, how)).status).toBe(404);
    const [, { access_token }] = await poll(approved.device_code);
    const user = await new Client(access_token).ok("GET", "/v1/user");
    expect(user).toMatchObject({ username: person.username });
  });

  it("a code expires after 10 minutes, approved or not, and is swept", async () => {
    const person = await newDashboardUser();
    const [waiting, approved] = [await begin(), await approvedBy(person)];
    advance(600);
    for (const path of ["/device", "/device/answer"]) {
      const fields = { user_code: waiting.user_code, answer: "approve" };
      const { status, html } = await person.visitor.send(path, fields);
      expect([status, html]).toEqual([404, expect.stringContaining("Run auspex login again")]);
    }
    for (const { device_code } of [waiting, approved])
      expect(await poll(device_code)).toEqual(refused("expired_token"));
    advance(1);
    await sweep();
    expect([await rowOf(waiting), await rowOf(approved)]).toEqual([null, null]);
    expect(await poll(approved.device_code)).toEqual(refused("invalid_grant"));
  });

  it("a device code is stored as a hash, and no other text opens a login", async () => {
    const begun = await begin();
    const row = JSON.stringify(await rowOf(begun));
    expect(row).not.toContain(begun.device_code);
    const { device_code: code } = begun;
    const withTypo = code.slice(0, -1) + (code.endsWith("0") ? "1" : "0");
    for (const wrong of ["", "aus_", begun.user_code, withTypo, code.slice(1)])
      expect((await poll(wrong))[1]).toMatchObject({
        error: expect.stringMatching(/^invalid_/),
      });
  });

  it("an account that was suspended or deleted meanwhile gets no token", async () => {
    const person = await newDashboardUser();
    const begun = [await approvedBy(person), await approvedBy(person)];
    for (const [column, one] of [
      ["suspended_at", begun[0]],
      ["deleted_at", begun[1]],
    ] as const) {
      const set = (value: number | null) =>
        env.DB.prepare(`UPDATE users SET ${column} = ? WHERE id = ?`)
          .bind(value, person.user_id)
          .run();
      await set(1);
      expect(await poll(one?.device_code ?? "")).toEqual(refused("access_denied"));
      await set(null);
    }
  });

  it("a login that was approved before the password was reset gives no token", async () => {
    const person = await newDashboardUser();
    const { device_code } = await approvedBy(person);
    const nobody = { invitation: undefined, joining: undefined };
    await replacePassword(getServices(env).db, person.user_id, "a hash", nobody, anEntry());
    expect(await poll(device_code)).toEqual(refused("invalid_grant"));
  });

  it("a person with too many tokens is told so in the terminal", async () => {
    const person = await newDashboardUser();
    await env.DB.prepare(
      `INSERT INTO tokens (id, user_id, name, hash, prefix, scopes, created_at)
        SELECT 'many-' || value, ?, 'x', 'many-' || value, 'aus_', '[]', 1 FROM json_each(?)`,
    )
      .bind(person.user_id, JSON.stringify(Array.from({ length: 100 }, (_, n) => n)))
      .run();
    const [status, { error, error_description }] = await poll(
      (await approvedBy(person)).device_code,
    );
    expect([status, error]).toEqual([400, "access_denied"]);
    expect(error_description).toContain("at most 100 access tokens");
  });

  it.each([
    ["no name", { client_id: "auspex" }],
    ["a name of spaces", { client_id: "auspex", device_name: "  " }],
    ["a name that hides what follows", { client_id: "auspex", device_name: "ada\u202elaptop" }],
    ["a name with a line break", { client_id: "auspex", device_name: "ada\nlaptop" }],
    ["a long name", { client_id: "auspex", device_name: "x".repeat(81) }],
    ["another client", { client_id: "other", device_name: "ada" }],
  ])("a login with %s does not begin", async (_, fields) => {
    const response = await nobody.fetch(DEVICE_AUTHORIZATION, form(fields));
    expect([response.status, await response.json()]).toEqual(refused("invalid_request"));
  });
});

describe("the page of a code", () => {
  it("a visitor logs in first, and comes back", async () => {
    const person = await newDashboardUser();
    const stranger = copyVisitor(person.visitor);
    stranger.cookies.clear();
    const { location } = await stranger.look("/device");
    expect(location).toBe("/sign-in?next=%2Fdevice");
    expect((await person.visitor.look("/device")).status).toBe(200);
  });

  it("a wrong code is refused at its form, and a login needs an answer", async () => {
    const person = await newDashboardUser();
    const wrong = await person.visitor.send("/device", { user_code: "BCDF-GHJK" });
    expect([wrong.status, wrong.html]).toEqual([404, expect.stringContaining("Code")]);
    const { user_code } = await begin();
    expect((await person.visitor.send("/device/answer", { user_code })).status).toBe(422);
    expect((await answer(person, user_code, "approve")).status).toBe(303);
  });

  it("codes cannot be tried out, and logins cannot be begun at will", async () => {
    const { visitor } = await newDashboardUser();
    const limited: Bindings = Object.assign({}, env, { RATE_LIMITS: "on" });
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const send = (path: string, address: string, fields: Record<string, string>) =>
      worker.fetch(
        new Request<unknown, IncomingRequestCfProperties>(ORIGIN + path, {
          method: "POST",
          body: new URLSearchParams({ form_token: visitor.formToken, ...fields }),
          headers: { accept: "text/html", origin: ORIGIN, cookie, "cf-connecting-ip": address },
        }),
        limited,
        createExecutionContext(),
      );
    const statuses = async (path: string, address: string, fields: Record<string, string>) => {
      const seen = new Set<number>();
      for (let n = 0; n < 12; n++) seen.add((await send(path, address, fields)).status);
      return [...seen].sort();
    };
    const code = { user_code: "BCDF-GHJK", answer: "approve" };
    expect(await statuses("/device", "203.0.113.201", code)).toContain(429);
    expect(await statuses("/device/answer", "203.0.113.202", code)).toContain(429);
    const machine = { client_id: "auspex", device_name: "ada" };
    expect(await statuses(DEVICE_AUTHORIZATION, "203.0.113.203", machine)).toEqual([200, 429]);
    const poll = { client_id: "auspex", grant_type: DEVICE_GRANT, device_code: "ausd_" };
    expect(await statuses(OAUTH_TOKEN, "203.0.113.204", poll)).toEqual([400, 429]);
  });
});
