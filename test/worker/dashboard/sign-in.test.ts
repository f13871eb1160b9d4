/** Sign-up, login and sessions, without client code; attempts are limited. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { VERIFIER } from "../../../src/protocol/user.ts";
import { getServices } from "../../../src/services/services.ts";
import {
  limitSignUpAttempts,
  sweepSessions,
} from "../../../src/services/sign-in/sign-up-attempts.ts";
import { run } from "../support/accounts.ts";
import { Client, ORIGIN } from "../support/client.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";
import { operator, unique } from "../support/world.ts";

const newcomer = () => {
  const username = unique("ann");
  return { username, name: "Ann", email: `${username}@example.com`, password: PASSWORD };
};

describe("sign-up", () => {
  it("a sign-up makes a user and signs them in, with a cookie that scripts cannot read", async () => {
    const visitor = new Visitor();
    const form = newcomer();
    const { headers, location } = await visitor.send("/sign-up", form);
    expect(location).toBe("/");
    const [cookie] = headers.getSetCookie().filter((one) => one.includes("session_token"));
    expect(cookie).toMatch(/^__Host-auspex\.session_token=/);
    for (const attribute of ["HttpOnly", "Secure", "SameSite=Lax", "Path=/"]) {
      expect(cookie).toContain(attribute);
    }
    expect((await visitor.look("/")).html).toContain(form.username);
    const user = await new Client(undefined).fetch(`/v1/users/${form.username}`);
    expect(user.status).toBe(200);
  });

  it.each([
    ["an invalid username", { username: "Ann Smith" }, "username"],
    ["the username of npm run verify", { username: VERIFIER }, "username"],
    ["an invalid address", { email: "ann" }, "email"],
    ["a short password", { password: "short" }, "password"],
  ])("an error of %s is shown at its field, and the rest is kept", async (_, wrong, field) => {
    const form = newcomer();
    const { status, html } = await new Visitor().send("/sign-up", { ...form, ...wrong });
    expect(status).toBe(422);
    expect(html).toMatch(new RegExp(`id="${field}-error"`));
    expect(html).toMatch(new RegExp(`<input id="${field}"[^>]*aria-invalid="true"`));
    expect(html).toContain('value="Ann"');
    expect(html).not.toContain(PASSWORD);
  });

  it("a sign-up shows that a username, or an address, is taken", async () => {
    const { username, email } = await signedUp();
    const sameName = await new Visitor().send("/sign-up", { ...newcomer(), username });
    expect(sameName.html).toContain(`&#39;${username}&#39; is taken`);
    const sameAddress = await new Visitor().send("/sign-up", {
      ...newcomer(),
      email: email.toUpperCase(),
    });
    expect(sameAddress.html).toContain("An account with this email address exists. Log in instead");
  });

  it("a sign-up whose username was taken leaves nothing", async () => {
    const { username } = await signedUp();
    const form = newcomer();
    await new Visitor().send("/sign-up", { ...form, username });
    const again = await new Visitor().send("/sign-up", form);
    expect(again.status).toBe(303);
  });
});

describe("sign-in", () => {
  it.each([
    "https://evil.test/",
    "//evil.test/",
    "/\\evil.test",
    "javascript:alert(1)",
    "/\t/evil",
    "/\0",
    "/é",
  ])("a login never goes on to another site: %s", async (next) => {
    const { email } = await signedUp();
    const fields = { email, password: PASSWORD, next };
    expect((await new Visitor().send("/sign-in", fields)).location).toBe("/");
  });

  it("a login leads to the page that was asked for before", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const next = "/predictions?status=failed";
    const { location } = await visitor.look(next);
    expect(location).toBe(`/sign-in?next=${encodeURIComponent(next)}`);
    expect((await visitor.send("/sign-in", { email, password: PASSWORD, next })).location).toBe(
      next,
    );
  });

  it("a wrong password and an unknown address are refused in the same words", async () => {
    const { email } = await signedUp();
    const said = await Promise.all(
      [email, "nobody@example.com"].map(async (address) => {
        const guess = { email: address, password: "not the password" };
        const { status, html } = await new Visitor().send("/sign-in", guess);
        expect(status).toBe(403);
        expect(html).toContain(`value="${address}"`);
        return /<[^>]*role="alert"[^>]*>(.*?)<\/p>/s.exec(html)?.[1];
      }),
    );
    expect(said[0]).toMatch(/password/i);
    expect(said[1]).toBe(said[0]);
  });

  it.each(["/sign-in", "/sign-up", "/set-up"])(
    "a body that is no form is refused at %s",
    async (path) => {
      const json = await new Visitor().request(path, {
        method: "POST",
        headers: { accept: "text/html", origin: ORIGIN, "content-type": "application/json" },
        body: "{}",
      });
      expect(json.status).toBe(415);
      const broken = await new Visitor().request(path, {
        method: "POST",
        headers: { accept: "text/html", origin: ORIGIN, "content-type": "multipart/form-data" },
        body: "x",
      });
      expect(broken.status).toBe(400);
    },
  );
});

describe("attempts to log in", () => {
  const services = getServices(env);

  beforeEach(() => {
    services.settings.rateLimits = true;
  });
  afterEach(() => {
    services.settings.rateLimits = false;
  });

  // The binding counts in windows of the wall clock, so at most twice its limit gets through.
  async function untilRefused(limit: number, attempt: (n: number) => ReturnType<Visitor["send"]>) {
    for (let n = 0; n <= 2 * limit; n++) {
      const { status, html } = await attempt(n);
      if (status !== 429) continue;
      expect(n).toBeGreaterThanOrEqual(limit);
      expect(html).toContain("Too many login attempts. Wait 60 seconds");
      return;
    }
    throw new Error(`${2 * limit + 1} attempts were let through`);
  }

  const from = (address: string) => ({ "cf-connecting-ip": address });

  it("attempts at one account are limited, from wherever they come", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const guess = { email, password: "not the password" };
    await untilRefused(8, (n) => visitor.send("/sign-in", guess, from(`198.51.100.${n}`)));
  });

  it("attempts from one address are limited, whatever they try, and keep nobody else out", async () => {
    const { email } = await signedUp();
    const visitor = new Visitor();
    const place = from("198.51.100.200");
    await untilRefused(4, (n) =>
      n % 2 === 0
        ? visitor.send("/sign-in", { email, password: "guess" }, place)
        : visitor.send("/set-up", { operator_token: "a guess" }, place),
    );
    const fields = { email, password: PASSWORD };
    const owner = await new Visitor().send("/sign-in", fields, from("198.51.100.201"));
    expect(owner.status).toBe(303);
  });
});

it("an operator may take over a user that was made over the API, when nobody logs in as it", async () => {
  const username = unique("made");
  await operator.post("/v1/operator/users", { username });
  const visitor = new Visitor();
  const form = { ...newcomer(), username, operator_token: env.OPERATOR_TOKEN };
  expect((await visitor.send("/set-up", form)).status).toBe(303);
  expect((await visitor.look("/set-up")).html).toContain(`${username} is an operator`);
  const another = await new Visitor().send("/set-up", { ...form, email: "other@example.com" });
  expect(another.html).toContain("is taken");
});

describe("attempts to sign up", () => {
  const services = getServices(env);

  beforeEach(stopClock);
  afterEach(() => {
    services.settings.rateLimits = false;
    startClock();
    vi.restoreAllMocks();
  });

  it("a network has 20 attempts a day, whatever their outcome; others and the next day are free", async () => {
    const { email } = await signedUp();
    services.settings.rateLimits = true;
    // The limits per minute are off, because this test is about the daily one.
    for (const limit of [env.RATE_LIMIT_SIGN_IN, env.RATE_LIMIT_ADDRESS])
      vi.spyOn(limit, "limit").mockResolvedValue({ success: true });
    const network = `2001:db8:${(Math.random() * 65_535) | 0}:1`;
    const send = (form: Record<string, string>, address = `${network}::1`) =>
      new Visitor().send("/sign-up", form, { "cf-connecting-ip": address });
    expect((await send({ ...newcomer(), email })).html).toContain(
      "An account with this email address exists",
    );
    for (let n = 1; n < 20; n++) await limitSignUpAttempts(services, network);
    const refused = await Promise.all([
      send({ ...newcomer(), email }, `${network}::2`),
      send(newcomer()),
    ]);
    for (const { status, html } of refused) {
      expect(status).toBe(429);
      expect(html).toContain("Too many sign-up attempts from your network today (20 are allowed)");
      expect(html).not.toContain("An account with this email address exists");
    }
    expect((await send(newcomer(), "198.51.100.7")).status).toBe(303);
    advance(86_400);
    expect((await send(newcomer())).status).toBe(303);
  });

  it("a count of attempts has no address of its network, and goes with its day", async () => {
    await limitSignUpAttempts(services, "203.0.113.9");
    expect(JSON.stringify(await run("SELECT * FROM sign_up_attempts"))).not.toContain("203.0.113");
    await sweepSessions(services, Date.now() + 2 * 86_400_000);
    expect(await run("SELECT * FROM sign_up_attempts")).toEqual([]);
  });
});

describe("the security of an account", () => {
  const SECURITY = "/account/security";

  const sessionsOf = (username: string) =>
    run(
      "SELECT sessions.* FROM sessions JOIN users ON users.id = user_id WHERE username = ?",
      username,
    );

  it("a sweep removes the sessions that have ended, and no others", async () => {
    const { visitor, username } = await signedUp();
    const services = getServices(env);
    const ends = Number((await sessionsOf(username))[0]?.expires_at);
    await sweepSessions(services, ends);
    expect((await visitor.look(SECURITY)).status).toBe(200);
    await sweepSessions(services, ends + 1);
    expect(await sessionsOf(username)).toEqual([]);
  });

  it("sessions end from another one by one, all others by a new password, and all at once", async () => {
    const { visitor, username, email } = await signedUp();
    const signIn = async (password: string) => {
      const other = new Visitor();
      await other.send("/sign-in", { email, password });
      expect(await isIn(other)).toBe(true);
      return other;
    };
    const isIn = async (one: Visitor) => (await one.look("/tokens")).status === 200;
    const [mine] = await sessionsOf(username);
    const one = await signIn(PASSWORD);
    const other = (await sessionsOf(username)).find(({ id }) => id !== mine?.id);
    await visitor.send(`${SECURITY}/sessions/${other?.id}/end`);
    expect([await isIn(one), await isIn(visitor)]).toEqual([false, true]);

    const another = await signIn(PASSWORD);
    const password = "another long password";
    await visitor.send(`${SECURITY}/password`, { current: PASSWORD, password });
    expect([await isIn(another), await isIn(visitor)]).toEqual([false, true]);

    const last = await signIn(password);
    await visitor.send(`${SECURITY}/sessions/end`);
    expect([await isIn(last), await isIn(visitor)]).toEqual([false, false]);
  });

  it("a password stays when the present one is wrong", async () => {
    const { visitor, email } = await signedUp();
    const fields = { current: "not my password", password: "another long password" };
    const { status, html } = await visitor.send(`${SECURITY}/password`, fields);
    expect([status, html]).toEqual([422, expect.stringContaining('id="current-error"')]);
    expect((await new Visitor().send("/sign-in", { email, password: PASSWORD })).status).toBe(303);
  });

  it("a passkey is only made in a session that began in the last 15 minutes", async () => {
    const { visitor, username } = await signedUp();
    const options = "/auth/passkey/generate-register-options";
    expect((await visitor.call("GET", options)).status).toBe(200);
    const [session] = await sessionsOf(username);
    await run(
      "UPDATE sessions SET created_at = ? WHERE id = ?",
      Date.now() - 16 * 60_000,
      session?.id,
    );
    expect((await visitor.call("GET", options)).status).toBe(403);
  });
});
