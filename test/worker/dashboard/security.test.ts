/** Ways to sign in, and sessions of an account. */
import { env } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { sweepSessions } from "../../../src/services/sign-in/sign-up-attempts.ts";
import { findUserByName } from "../../../src/storage/accounts/users.ts";
import { sessions } from "../../../src/storage/schema/sign-in.ts";
import { PASSWORD, signedUp, Visitor } from "../support/visitor.ts";

const ADDRESS = "/account/security";

async function elsewhere(email: string): Promise<Visitor> {
  const visitor = new Visitor();
  await visitor.send("/sign-in", { email, password: PASSWORD });
  await visitor.look(ADDRESS);
  return visitor;
}

const isIn = async (visitor: Visitor) => (await visitor.look(ADDRESS)).status === 200;

describe("sessions", () => {
  it("one session can be ended from another", async () => {
    const { visitor, email } = await signedUp();
    const other = await elsewhere(email);
    const { html } = await visitor.look(ADDRESS);
    const [, action = ""] = /action="([^"]+\/end)"/.exec(html) ?? [];
    await visitor.send(action);
    expect(await isIn(other)).toBe(false);
    expect(await isIn(visitor)).toBe(true);
  });

  it("all sessions end at once", async () => {
    const { visitor, email } = await signedUp();
    const other = await elsewhere(email);
    const { location } = await visitor.send(`${ADDRESS}/sessions/end`);
    expect(location).toBe("/sign-in");
    expect(await isIn(other)).toBe(false);
    expect(await isIn(visitor)).toBe(false);
  });

  it("a session is ended by its own user only", async () => {
    const { visitor } = await signedUp();
    const { visitor: stranger, email } = await signedUp();
    await elsewhere(email);
    const { html } = await stranger.look(ADDRESS);
    const [, action = ""] = /action="([^"]+\/end)"/.exec(html) ?? [];
    expect((await visitor.send(action)).status).toBe(404);
  });
});

describe("the sweep", () => {
  it("a sweep removes the sessions that have ended, and no others", async () => {
    const { visitor, username } = await signedUp();
    const { db } = getServices(env);
    const user = await findUserByName(db, username);
    const of = eq(sessions.userId, String(user?.id));
    const [session] = await db.select().from(sessions).where(of);
    await sweepSessions(getServices(env), Number(session?.expiresAt));
    expect(await isIn(visitor)).toBe(true);
    await sweepSessions(getServices(env), Number(session?.expiresAt) + 1);
    expect(await db.select().from(sessions).where(of)).toEqual([]);
  });
});

describe("the password", () => {
  it("a password is changed by a user who knows it, which ends the other sessions", async () => {
    const { visitor, email } = await signedUp();
    const other = await elsewhere(email);
    const password = "another long password";
    const { location } = await visitor.send(`${ADDRESS}/password`, { current: PASSWORD, password });
    expect(location).toBe(ADDRESS);
    expect(await isIn(visitor)).toBe(true);
    expect(await isIn(other)).toBe(false);
    expect((await new Visitor().send("/sign-in", { email, password })).status).toBe(303);
  });

  it("a password stays when the present one is wrong", async () => {
    const { visitor, email } = await signedUp();
    const { status, html } = await visitor.send(`${ADDRESS}/password`, {
      current: "not my password",
      password: "another long password",
    });
    expect(status).toBe(422);
    expect(html).toContain('id="current-error"');
    expect((await new Visitor().send("/sign-in", { email, password: PASSWORD })).status).toBe(303);
  });
});

describe("passkeys", () => {
  it("a passkey of another user is a 404", async () => {
    const { visitor } = await signedUp();
    expect((await visitor.send(`${ADDRESS}/passkeys/of-another/remove`)).status).toBe(404);
  });

  it("a passkey is only made in a session that began recently", async () => {
    const { visitor, username } = await signedUp();
    const options = "/auth/passkey/generate-register-options";
    expect((await visitor.call("GET", options)).status).toBe(200);
    const { db } = getServices(env);
    const user = await findUserByName(db, username);
    const of = eq(sessions.userId, String(user?.id));
    await db
      .update(sessions)
      .set({ createdAt: new Date(Date.now() - 16 * 60_000) })
      .where(of);
    expect((await visitor.call("GET", options)).status).toBe(403);
  });

  it("a passkey is only made for a user who is signed in", async () => {
    const answer = await new Visitor().call("GET", "/auth/passkey/generate-register-options");
    expect(answer.status).toBe(401);
    await answer.body?.cancel();
  });
});
