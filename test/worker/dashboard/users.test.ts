/** Invitations: for new accounts, and for users who have lost a password. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import {
  admissionOfNewUser,
  isAdmitted,
  readAdmission,
} from "../../../src/services/sign-in/admission.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "../support/visitor.ts";
import { operator, unique } from "../support/world.ts";

const { settings } = getServices(env);

const NO_LONGER = "This invitation is no longer valid";

const newcomer = () => {
  const username = unique("ben");
  return { username, name: "Ben", email: `${username}@example.com`, password: PASSWORD };
};

/** Returns the token of a new invitation, from the link that the operator reads. */
async function invite(fields: { note: string; username?: string }): Promise<string> {
  const { visitor } = await signedUpOperator(env.OPERATOR_TOKEN);
  const { html } = await visitor.send("/users/invitations", fields);
  const [, link] = /<code>(https:[^<]+)<\/code>/.exec(html) ?? [];
  expect(link, html).toBeDefined();
  expect((await visitor.look("/users")).html).not.toContain(String(link));
  const { pathname, search, hash } = new URL(String(link));
  // The request has no token, because requests are in logs.
  expect([pathname, search]).toEqual(["/sign-up", ""]);
  return new URLSearchParams(hash.slice(1)).get("invitation") ?? expect.fail("no token");
}

/** Opens an invitation as client code does with its link. */
async function opened(visitor: Visitor, invitation: string) {
  const { location } = await visitor.send("/sign-up/invitation", { invitation });
  return visitor.look(location ?? "");
}

beforeEach(() => {
  settings.signUp = "invitation";
});
afterEach(() => {
  settings.signUp = "open";
  vi.useRealTimers();
});

describe("sign-up by invitation", () => {
  // An operator is made before sign-up closes: the operator token admits them in any case.
  it("a visitor without an invitation cannot sign up", async () => {
    const visitor = new Visitor();
    expect((await visitor.look("/sign-up")).html).toContain(
      "You need an invitation to create an account",
    );
    const { status, html } = await visitor.send("/sign-up", newcomer());
    expect(status).toBe(403);
    expect(html).toContain("You need an invitation to create an account");
    const madeUp = await visitor.send("/sign-up", { ...newcomer(), invitation: "ausi_x" });
    expect(madeUp.status).toBe(403);
  });

  it("an invitation is checked before everything else, and reveals nothing about accounts", async () => {
    settings.signUp = "open";
    const { email, username } = await signedUp();
    settings.signUp = "invitation";
    const prepare = vi.spyOn(env.DB, "prepare");
    const told = await Promise.all(
      [newcomer(), { ...newcomer(), email }, { ...newcomer(), username }, { email: "none" }].map(
        async (form) => {
          const { status, html } = await new Visitor().send("/sign-up", form);
          return [status, /class="problem"[^>]*>(.*?)</s.exec(html)?.[1], html.length > 0];
        },
      ),
    );
    expect(new Set(told.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(told[0]?.[0]).toBe(403);
    const asked = prepare.mock.calls.map(([sql]) => sql).join();
    prepare.mockRestore();
    expect(asked).not.toMatch(/logins|credentials|users/);
  });

  it("an invitation makes one account", async () => {
    settings.signUp = "open";
    const invitation = await invite({ note: "Ben of the lab" });
    settings.signUp = "invitation";
    const visitor = new Visitor();
    expect((await opened(visitor, invitation)).html).toContain("Invitation for Ben of the lab.");
    expect((await visitor.send("/sign-up", { ...newcomer(), invitation })).status).toBe(303);
    const again = await new Visitor().send("/sign-up", { ...newcomer(), invitation });
    expect([again.status, again.html]).toEqual([403, expect.stringContaining(NO_LONGER)]);
  });

  it("nobody can sign up where sign-up is closed, and the pages say so", async () => {
    settings.signUp = "closed";
    const visitor = new Visitor();
    expect((await visitor.look("/sign-up")).html).toContain("Sign-up is closed on this deployment");
    expect((await visitor.send("/sign-up", newcomer())).status).toBe(403);
    expect((await visitor.look("/sign-in")).html).not.toContain("Create an account");
  });

  it("a link that has ended shows so, even where everybody may sign up", async () => {
    for (const signUp of ["invitation", "closed", "open"] as const) {
      settings.signUp = signUp;
      expect((await opened(new Visitor(), "ausi_x")).html).toContain(NO_LONGER);
      expect((await opened(new Visitor(), "")).html).not.toContain(NO_LONGER);
      expect((await new Visitor().look("/sign-up")).html).not.toContain(NO_LONGER);
    }
  });

  it("an invitation that is used twice at once makes one account", async () => {
    settings.signUp = "open";
    const invitation = await invite({ note: "Ben" });
    settings.signUp = "invitation";
    const answers = await Promise.all(
      [newcomer(), newcomer()].map((form) =>
        new Visitor().send("/sign-up", { ...form, invitation }),
      ),
    );
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses[0]).toBe(303);
    expect([403, 409]).toContain(statuses[1]);
  });

  it("an invitation ends after seven days", async () => {
    settings.signUp = "open";
    const token = await invite({ note: "Ben" });
    settings.signUp = "invitation";
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 7 * 86_400_000 + 1_000 });
    const { html } = await opened(new Visitor(), token);
    expect(html).not.toContain("Invitation for");
    expect(html).toContain(NO_LONGER);
  });
});

describe("an invitation for an existing user", () => {
  beforeEach(() => {
    settings.signUp = "open";
  });

  it("an invitation signs its visitor in as that user", async () => {
    const username = unique("made");
    await operator.post("/v1/operator/users", { username });
    const token = await invite({ note: "Made", username });
    const visitor = new Visitor();
    expect((await opened(visitor, token)).html).toContain(username);
    const form = { ...newcomer(), username: "ignored-name", invitation: token };
    expect((await visitor.send("/sign-up", form)).status).toBe(303);
    expect((await visitor.look("/")).html).toContain(username);
  });

  it("an invitation gives a user a new password, and ends the sessions of the old one", async () => {
    const { visitor: before, username, email } = await signedUp();
    const token = await invite({ note: "Lost it", username });
    const visitor = new Visitor();
    expect((await opened(visitor, token)).html).toContain("Choose a new password");
    const password = "another long password";
    const invitation = token;
    expect((await visitor.send("/sign-up", { invitation, password })).location).toBe("/tokens");
    expect((await visitor.look("/tokens")).html).toContain("Access tokens still work");
    expect((await visitor.look("/")).html).toContain(username);
    expect((await before.look("/account/security")).location).toMatch(/^\/sign-in/);
    const old = await new Visitor().send("/sign-in", { email, password: PASSWORD });
    expect(old.status).toBe(403);
    expect((await new Visitor().send("/sign-in", { email, password })).status).toBe(303);
    const again = await new Visitor().send("/sign-up", { invitation, password: PASSWORD });
    expect(again.status).not.toBe(303);
  });

  it("an invitation never opens an account that somebody has meanwhile", async () => {
    const username = unique("made");
    await operator.post("/v1/operator/users", { username });
    const [first, second] = [
      await invite({ note: "Lost", username }),
      await invite({ note: "Again", username }),
    ];
    const form = { ...newcomer(), invitation: second };
    const owner = new Visitor();
    await owner.send("/sign-up", form);
    for (const fields of [{ ...newcomer() }, { password: "another long password" }]) {
      const late = await new Visitor().send("/sign-up", { ...fields, invitation: first });
      expect(late.location).not.toBe("/tokens");
    }
    expect((await owner.look("/account/security")).status).toBe(200);
    const again = await new Visitor().send("/sign-in", { email: form.email, password: PASSWORD });
    expect(again.status).toBe(303);
  });

  it("an invitation ends when the owner changes the password", async () => {
    const { visitor, username } = await signedUp();
    const token = await invite({ note: "Lost it", username });
    const password = "another long password";
    await visitor.send("/account/security/password", { current: PASSWORD, password });
    const late = await new Visitor().send("/sign-up", { invitation: token, password });
    expect(late.location).toBeUndefined();
  });

  it("an invitation does not admit a new user whom GitHub vouches for", async () => {
    const { username } = await signedUp();
    const token = await invite({ note: "Lost it", username });
    const services = getServices(env);
    const admitted = await readAdmission(services, { invitation: token });
    settings.signUp = "invitation";
    expect(isAdmitted(services, admitted)).toBe(true);
    expect(isAdmitted(services, admissionOfNewUser(admitted))).toBe(false);
  });

  it("an invitation for an unknown user is refused with a message", async () => {
    const { visitor } = await signedUpOperator(env.OPERATOR_TOKEN);
    const { status, html } = await visitor.send("/users/invitations", {
      note: "Nobody",
      username: unique("nobody"),
    });
    expect(status).toBe(404);
    expect(html).toContain("was not found");
  });
});
