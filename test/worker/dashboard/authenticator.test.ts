/** An authenticator app as the second factor of logins with a password, and its recovery codes. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { reEncryptTwoFactors } from "../../../src/services/sign-in/two-factor.ts";
import { run } from "../support/accounts.ts";
import { beginApp, codeOf, setUpApp } from "../support/authenticator.ts";
import { newDashboardUser, newOperator } from "../support/dashboard-users.ts";
import { advance, startClock, stopClock } from "../support/time.ts";
import { PASSWORD, Visitor } from "../support/visitor.ts";

const APP = "/account/security/app";
const services = getServices(env);
const { settings } = services;
const { secretKeys } = settings;

afterEach(() => {
  startClock();
  settings.secretKeys = secretKeys;
});

/** Returns a browser in which a user has entered their password. */
async function withPassword(email: string, origin?: string) {
  const visitor = new Visitor(origin);
  const form = { email, password: PASSWORD, next: "/tokens" };
  const { location } = await visitor.send("/sign-in", form);
  return { visitor, location };
}

const isIn = async (visitor: Visitor) => (await visitor.look("/tokens")).status === 200;

const enter = (visitor: Visitor, code: string) =>
  visitor.send("/sign-in/code", { code, next: "/tokens" });

const wrongOf = (code: string) => (code === "000000" ? "000001" : "000000");

describe("setting an authenticator app up", () => {
  it("the app is off until its first code, and needs the password", async () => {
    const { visitor, email } = await newDashboardUser();
    const wrong = await visitor.send(APP, { password: "not the password" });
    expect(wrong.status).toBe(422);
    expect(wrong.html).toContain("Wrong password");
    const uri = await beginApp(visitor);
    expect(uri).toMatch(/^otpauth:\/\/totp\/Auspex/);
    const codes = "aaaaa-bbbbb ccccc-ddddd";
    const form = { uri, codes, code: wrongOf(await codeOf(uri)) };
    const again = await visitor.send(`${APP}/confirm`, form);
    expect(again.status).toBe(422);
    for (const shown of ["<svg", "Wrong code", "aaaaa-bbbbb\nccccc-ddddd"])
      expect(again.html).toContain(shown);
    expect(await isIn((await withPassword(email)).visitor)).toBe(true);
    const { location } = await visitor.send(`${APP}/confirm`, { ...form, code: await codeOf(uri) });
    expect(location).toBe("/account/security");
    expect((await visitor.look(location ?? "")).html).toContain("need a code of your app");
  });

  it("the session goes on when the app is turned on, and others stay", async () => {
    const person = await newDashboardUser();
    const other = await withPassword(person.email);
    await setUpApp(person.visitor);
    expect(await isIn(person.visitor)).toBe(true);
    expect(await isIn(other.visitor)).toBe(true);
    expect((await person.visitor.send(APP, { password: PASSWORD })).status).toBe(409);
  });

  it("secret and recovery codes are stored encrypted, and again with a new key", async () => {
    const { visitor, email, user_id } = await newDashboardUser();
    const { codes } = await setUpApp(visitor);
    const stored = () => run("SELECT * FROM two_factors WHERE user_id = ?", user_id);
    const before = await stored();
    expect(JSON.stringify(before)).not.toContain(codes[0]);
    settings.secretKeys = ["a new key of at least 32 characters", ...secretKeys];
    await reEncryptTwoFactors(services, 50);
    const after = await stored();
    expect(after[0]?.secret).not.toBe(before[0]?.secret);
    settings.secretKeys = settings.secretKeys.slice(0, 1);
    const { visitor: elsewhere } = await withPassword(email, "https://rotated.auspex.test");
    expect((await enter(elsewhere, codes[0] ?? "")).status).toBe(303);
  });
});

describe("a login with an authenticator app", () => {
  it("the password alone begins no session, and the code of the app does", async () => {
    const person = await newDashboardUser();
    const { uri } = await setUpApp(person.visitor);
    const { visitor, location } = await withPassword(person.email);
    expect(location).toBe("/sign-in/code?next=%2Ftokens");
    expect(await isIn(visitor)).toBe(false);
    expect((await visitor.look(location ?? "")).html).toContain('name="code"');
    expect((await enter(visitor, wrongOf(await codeOf(uri)))).html).toContain("Wrong code");
    const code = await codeOf(uri);
    const entered = await enter(visitor, `${code.slice(0, 3)} ${code.slice(3)}`);
    expect(entered).toMatchObject({ status: 303, location: "/tokens" });
    expect(await isIn(visitor)).toBe(true);
    const [session] = await run(
      "SELECT begun_with FROM sessions WHERE user_id = ? ORDER BY rowid DESC LIMIT 1",
      person.user_id,
    );
    expect(session?.begun_with).toBe("totp");
  });

  it("a code without the password before it is refused", async () => {
    const person = await newDashboardUser();
    const { uri } = await setUpApp(person.visitor);
    const { status, html } = await enter(new Visitor(), await codeOf(uri));
    expect(status).toBe(403);
    expect(html).toContain("Log in with your password again");
  });

  it("a recovery code works once, and not after new ones are created", async () => {
    const person = await newDashboardUser();
    const { codes } = await setUpApp(person.visitor);
    const [first = "", second = ""] = codes;
    expect(codes).toHaveLength(10);
    const one = (await withPassword(person.email)).visitor;
    expect((await enter(one, first)).status).toBe(303);
    const two = (await withPassword(person.email)).visitor;
    expect((await enter(two, first)).status).toBe(422);
    const refused = await person.visitor.send(`${APP}/codes`, { password: "not the password" });
    expect(refused.status).toBe(422);
    const { html } = await person.visitor.send(`${APP}/codes`, { password: PASSWORD });
    expect(html).toContain("Your new recovery codes");
    expect(html).not.toContain(second);
    expect((await enter(two, second)).status).toBe(422);
  });

  it("wrong codes end the login after 5, and stop logins for 15 minutes after 10", async () => {
    stopClock();
    const person = await newDashboardUser();
    const { uri, codes } = await setUpApp(person.visitor);
    for (const _ of [1, 2]) {
      const { visitor } = await withPassword(person.email);
      for (let n = 0; n < 5; n++)
        expect((await enter(visitor, wrongOf(await codeOf(uri)))).status).toBe(422);
      if (_ === 1) expect((await enter(visitor, await codeOf(uri))).status).toBe(403);
    }
    const { visitor } = await withPassword(person.email);
    for (const code of [await codeOf(uri), codes[0] ?? ""]) {
      const { status, html } = await enter(visitor, code);
      expect(status).toBe(429);
      expect(html).toContain("Try again in 15 minutes");
    }
    advance(15 * 60 + 1);
    const later = (await withPassword(person.email)).visitor;
    expect((await enter(later, await codeOf(uri))).status).toBe(303);
  });

  it("the login needs no code once the app is removed", async () => {
    const person = await newDashboardUser();
    await setUpApp(person.visitor);
    const wrong = await person.visitor.send(`${APP}/remove`, { password: "not the password" });
    expect(wrong.status).toBe(422);
    expect((await person.visitor.send(`${APP}/remove`, { password: PASSWORD })).status).toBe(303);
    expect(await isIn(person.visitor)).toBe(true);
    expect(await isIn((await withPassword(person.email)).visitor)).toBe(true);
  });

  it("a recovery link of an operator removes the app", async () => {
    const person = await newDashboardUser();
    await setUpApp(person.visitor);
    const { visitor } = await newOperator();
    const { html } = await visitor.send(`/users/${person.username}/recovery`);
    const [, invitation = ""] = /#invitation=(ausi_\w+)/.exec(html) ?? [];
    const recovering = new Visitor();
    const password = "another long password";
    expect((await recovering.send("/sign-up", { invitation, password })).status).toBe(303);
    expect(await isIn(recovering)).toBe(true);
    expect(await run("SELECT id FROM two_factors WHERE user_id = ?", person.user_id)).toEqual([]);
  });
});
