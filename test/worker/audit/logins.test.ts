/** The log of logins: sessions, passwords, second factors and linked identities. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type CurrentRequest, duringRequest } from "../../../src/lib/current-request.ts";
import { failedSignIns } from "../../../src/services/audit/trail.ts";
import { recordedDatabase, recordNextWrite } from "../../../src/storage/audit/recorded-writes.ts";
import { database } from "../../../src/storage/database.ts";
import { categories, failedSignIns as failures } from "../../../src/storage/schema/index.ts";
import { ORIGINS } from "../../oidc/person.ts";
import { run, services } from "../support/accounts.ts";
import { actionsOf, anEntry, entriesOf } from "../support/audit.ts";
import { codeOf, setUpApp } from "../support/authenticator.ts";
import { newDashboardUser, signInAgain } from "../support/dashboard-users.ts";
import { eventually } from "../support/eventually.ts";
import { newPerson, OidcVisitor, oidcSettings } from "../support/oidc.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";
import { newClient, unique } from "../support/world.ts";

afterEach(() => {
  services.settings.oidc = undefined;
  vi.restoreAllMocks();
});

const SECURITY = "/account/security";

/** The actions since a user was made. */
async function newLogin() {
  const user = await newDashboardUser();
  const before = await actionsOf(user.client);
  const since = async () => (await actionsOf(user.client)).slice(before.length);
  return { ...user, before, since };
}

const sessionsOf = (userId: string) => run("SELECT id FROM sessions WHERE user_id = ?", userId);

describe("sessions", () => {
  test("a login names its session, and how it began", async () => {
    const { client, user_id, username, before, email } = await newLogin();
    expect(before).toEqual(["user.created", "user.signed_in"]);
    const [session] = await sessionsOf(user_id);
    const [entry] = await entriesOf(client, "?action=user.signed_in");
    expect(entry).toMatchObject({
      actor: { type: "user", id: user_id, name: username },
      targets: [{ type: "user", id: user_id, name: username }],
      context: { session_id: session?.id },
      changes: { before: { method: null }, after: { method: "password" } },
    });
    expect(JSON.stringify(await entriesOf(client))).not.toContain(PASSWORD);
    const headers = { "cf-connecting-ip": "203.0.113.9", "user-agent": "Firefox" };
    await new Visitor().send("/sign-in", { email, password: PASSWORD }, headers);
    const [again] = await entriesOf(client);
    expect(again?.context).toMatchObject({ ip: "203.0.113.9", user_agent: "Firefox" });
  });

  test("a login whose entry cannot be written makes no session", async () => {
    const { email, user_id, since } = await newLogin();
    const before = await sessionsOf(user_id);
    await run(
      "CREATE TRIGGER full BEFORE INSERT ON audit_entries BEGIN SELECT raise(ABORT, 'full'); END",
    );
    try {
      const visitor = new Visitor();
      expect((await visitor.send("/sign-in", { email, password: PASSWORD })).status).not.toBe(303);
      expect([...visitor.cookies.keys()].filter((name) => name.includes("session"))).toEqual([]);
    } finally {
      await run("DROP TRIGGER full");
    }
    expect(await sessionsOf(user_id)).toEqual(before);
    expect(await since()).toEqual([]);
  });

  test("a wrong password is counted, and not recorded", async () => {
    const { email, since } = await newLogin();
    const today = async () => (await failedSignIns(services))[0]?.count ?? 0;
    const before = await today();
    const wrong = await new Visitor().send("/sign-in", { email, password: "a wrong password" });
    const unknown = { email: "nobody@example.com", password: PASSWORD };
    expect([wrong.status, (await new Visitor().send("/sign-in", unknown)).status]).toEqual([
      403, 403,
    ]);
    await eventually(async () => expect(await today()).toBeGreaterThanOrEqual(before + 2));
    expect(await since()).toEqual([]);
  });

  test("only the last 30 days of failures are listed", async () => {
    await run("INSERT OR REPLACE INTO failed_sign_ins VALUES ('2001-01-01', 7)");
    const days = (await failedSignIns(services)).map(({ day }) => day);
    expect(days).not.toContain("2001-01-01");
    await services.db.delete(failures).where(eq(failures.day, "2001-01-01"));
  });

  test("a logout, and sessions that are ended from another, are recorded once", async () => {
    const user = await newLogin();
    const [one] = [await signInAgain(user), await signInAgain(user)];
    await one.send("/sign-out");
    const [, other] = await sessionsOf(user.user_id);
    const end = () => user.visitor.send(`${SECURITY}/sessions/${other?.id}/end`);
    await end();
    await end();
    await user.visitor.send(`${SECURITY}/sessions/end`);
    expect(await user.since()).toEqual([
      "user.signed_in",
      "user.signed_in",
      "user.signed_out",
      "session.revoked",
      "session.revoked",
    ]);
    const [all, single] = await entriesOf(user.client, "?action=session.revoked");
    expect(all?.targets).toEqual([{ type: "session", id: "", name: "all" }]);
    expect(single?.targets).toEqual([{ type: "session", id: other?.id, name: "" }]);
  });
});

describe("ways to log in", () => {
  test("a changed password is recorded, and a refused change is not", async () => {
    const { visitor, since, client } = await newLogin();
    const form = { current: "a wrong password", password: `${PASSWORD} 2` };
    await visitor.send(`${SECURITY}/password`, form);
    expect(await since()).toEqual([]);
    await visitor.send(`${SECURITY}/password`, { ...form, current: PASSWORD });
    expect(await since()).toEqual(["password.updated"]);
    const [entry] = await entriesOf(client);
    expect(entry?.context.session_id).toEqual(expect.any(String));
  });

  test("an authenticator app: on, a login with it, new codes, and off", async () => {
    const user = await newLogin();
    const { uri } = await setUpApp(user.visitor);
    const browser = new Visitor();
    await browser.send("/sign-in", { email: user.email, password: PASSWORD });
    expect(await user.since()).toEqual(["second_factor.enabled"]);
    await browser.send("/sign-in/code", { code: "x" });
    await browser.send("/sign-in/code", { code: await codeOf(uri) });
    await user.visitor.send(`${SECURITY}/app/codes`, { password: "a wrong password" });
    await user.visitor.send(`${SECURITY}/app/codes`, { password: PASSWORD });
    await user.visitor.send(`${SECURITY}/app/remove`, { password: PASSWORD });
    expect(await user.since()).toEqual([
      "second_factor.enabled",
      "user.signed_in",
      "recovery_codes.created",
      "second_factor.disabled",
    ]);
    const [login] = await entriesOf(user.client, "?action=user.signed_in");
    expect(login?.changes?.after).toEqual({ method: "totp" });
    expect(JSON.stringify(await entriesOf(user.client))).not.toContain(
      new URL(uri).searchParams.get("secret"),
    );
  });

  test("a removed passkey has the name of the one that was added", async () => {
    const { visitor, user_id, since, client } = await newLogin();
    const id = crypto.randomUUID();
    await run(
      `INSERT INTO passkeys (id, user_id, name, public_key, credential_id, counter, device_type, backed_up)
        VALUES (?, ?, 'Laptop', '', ?, 0, '', 0)`,
      id,
      user_id,
      `credential ${id}`,
    );
    await visitor.send(`${SECURITY}/passkeys/${id}/remove`);
    await visitor.send(`${SECURITY}/passkeys/${id}/remove`);
    expect(await since()).toEqual(["passkey.deleted"]);
    const [entry] = await entriesOf(client);
    expect(entry?.targets).toEqual([{ type: "passkey", id: `credential ${id}`, name: "Laptop" }]);
  });

  test("a first login with OpenID Connect links the identity and names the method", async () => {
    services.settings.oidc = oidcSettings();
    const username = await new OidcVisitor(ORIGINS[0]).join(await newPerson());
    const entries = await entriesOf(await newClient(username));
    const actions = entries.map(({ action }) => action).toSorted();
    expect(actions).toEqual(["identity.linked", "user.created", "user.signed_in"]);
    const of = (name: string) => entries.find(({ action }) => action === name);
    expect(of("user.signed_in")?.changes?.after).toEqual({ method: "oidc" });
    expect(of("identity.linked")?.targets).toMatchObject([{ type: "identity", name: "oidc" }]);
  });
});

describe("the next write of a request", () => {
  const db = database(recordedDatabase(env.DB));
  const newRequest = (): CurrentRequest => ({
    signal: new AbortController().signal,
    waitUntil: () => {},
  });
  const put = (slug: string) =>
    db.insert(categories).values({ slug, name: slug, description: "", created_at: 0 }).returning();
  const remove = (slug: string) => db.delete(categories).where(eq(categories.slug, slug));
  const isRecorded = async (id: string) =>
    (await run("SELECT id FROM audit_entries WHERE id = ?", id)).length === 1;

  test("an entry waits for its own table and statement, and is written once", async () => {
    const [entry, slug] = [anEntry(), unique("c")];
    await duringRequest(newRequest(), async () => {
      recordNextWrite("insert into", categories, entry);
      await remove(slug);
      await db.insert(failures).values({ day: slug, count: 1 });
      expect(await isRecorded(entry.id)).toBe(false);
      expect(await put(slug)).toMatchObject([{ slug }]);
      expect(await isRecorded(entry.id)).toBe(true);
      await put(unique("c"));
    });
    await services.db.delete(failures).where(eq(failures.day, slug));
  });

  test("an entry is never written with the write of another request", async () => {
    const entry = anEntry();
    await duringRequest(newRequest(), async () =>
      recordNextWrite("insert into", categories, entry),
    );
    await duringRequest(newRequest(), async () => {
      await put(unique("c"));
    });
    await put(unique("c"));
    expect(await isRecorded(entry.id)).toBe(false);
  });

  test("an entry of a write that changes nothing is dropped", async () => {
    const entry = anEntry();
    await duringRequest(newRequest(), async () => {
      recordNextWrite("delete from", categories, entry);
      await remove(unique("none"));
      const slug = unique("c");
      await put(slug);
      await remove(slug);
    });
    expect(await isRecorded(entry.id)).toBe(false);
  });
});
