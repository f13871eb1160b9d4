/** SIGN_IN = "oidc": the provider is the only way in, but for holders of OPERATOR_TOKEN. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { ORIGINS } from "../../oidc/person.ts";
import { newPerson, OidcVisitor, oidcSettings } from "../support/oidc.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const { settings } = getServices(env);
const [, ORIGIN] = ORIGINS;
const oidc = oidcSettings();

const only = () => {
  settings.oidcOnly = true;
};

beforeEach(() => {
  settings.oidc = oidc;
  settings.github = { clientId: "id", clientSecret: "secret" };
});
afterEach(() => {
  settings.oidc = undefined;
  settings.github = undefined;
  settings.oidcOnly = false;
  settings.signUp = "open";
});

const newcomer = () => {
  const username = unique("bob");
  return { username, name: "", email: `${username}@example.com`, password: PASSWORD };
};

describe('with SIGN_IN = "oidc"', () => {
  it("the pages of logging in and signing up offer the provider only", async () => {
    only();
    const browser = new OidcVisitor(ORIGIN);
    for (const path of ["/sign-in", "/sign-up"]) {
      const { html } = await browser.look(path);
      expect(html).toContain("Log in with Acme");
      for (const other of ["password", "passkey", "GitHub"]) expect(html).not.toContain(other);
    }
    await browser.join(await newPerson());
    const { html } = await browser.look("/account/security");
    for (const other of ["New password", "passkey"]) expect(html).not.toContain(other);
  });

  it("passwords, GitHub and passkeys are refused", async () => {
    const { email, visitor } = await signedUp();
    only();
    const browser = new Visitor(ORIGIN);
    expect((await browser.send("/sign-in", { email, password: PASSWORD })).status).toBe(403);
    expect((await browser.send("/sign-up", newcomer())).status).toBe(403);
    expect((await browser.send("/sign-in/github")).status).toBe(404);
    const change = { current: PASSWORD, password: "another long password" };
    expect((await visitor.send("/account/security/password", change)).status).toBe(404);
    for (const [method, path] of [
      ["GET", "/auth/callback/github?code=x&state=y"],
      ["GET", "/auth/passkey/generate-register-options"],
      ["POST", "/auth/passkey/verify-registration"],
      ["GET", "/auth/passkey/generate-authenticate-options"],
      ["POST", "/auth/passkey/verify-authentication"],
      ["POST", "/auth/sign-in/email"],
    ] as const)
      expect([
        path,
        (await visitor.call(method, path, method === "POST" ? {} : undefined)).status,
      ]).toEqual([path, 404]);
  });

  it("links that set a password are neither made nor accepted", async () => {
    const operator = await signedUpOperator(env.OPERATOR_TOKEN);
    const { username } = await signedUp();
    const invite = (name: string) =>
      operator.visitor.send("/users/invitations", { note: "Bob", username: name });
    const tokenIn = (html: string) => /#invitation=(\w+)/.exec(html)?.[1] ?? "";
    const invitation = tokenIn((await invite(username)).html);
    expect(invitation).not.toBe("");
    only();
    expect((await invite(username)).status).toBe(409);
    const browser = new Visitor(ORIGIN);
    await browser.send("/sign-up/invitation", { invitation });
    expect((await browser.look("/sign-up")).status).toBe(403);
    const { status } = await browser.send("/sign-up", { invitation, password: PASSWORD });
    expect(status).toBe(403);
  });

  it("an invitation admits a new person at the provider", async () => {
    const { visitor } = await signedUpOperator(env.OPERATOR_TOKEN);
    only();
    settings.signUp = "invitation";
    const { html } = await visitor.send("/users/invitations", { note: "Bob", username: "" });
    const [, invitation = ""] = /#invitation=(\w+)/.exec(html) ?? [];
    const browser = new OidcVisitor(ORIGIN);
    await browser.send("/sign-up/invitation", { invitation });
    expect((await browser.look("/sign-up")).html).toContain("Log in with Acme");
    await browser.join(await newPerson());
    expect(await new OidcVisitor(ORIGIN).enter(await newPerson())).toMatch(/not_admitted/);
  });

  it("a holder of OPERATOR_TOKEN signs up and logs in with a password at /set-up", async () => {
    only();
    const request = newcomer();
    const first = new Visitor(ORIGIN);
    const operator_token = env.OPERATOR_TOKEN;
    expect((await first.send("/set-up", { ...request, operator_token })).status).toBe(303);
    expect((await first.look("/users")).status).toBe(200);
    const again = new Visitor(ORIGIN);
    expect((await again.look("/set-up")).html).toContain('action="/set-up/sign-in"');
    const { email, password } = request;
    const enter = (token: string) =>
      again.send("/set-up/sign-in", { email, password, operator_token: token });
    expect((await enter("a wrong operator token")).status).toBe(401);
    expect((await again.look("/account/security")).status).toBe(303);
    expect((await enter(operator_token)).location).toBe("/set-up");
    const { results } = await env.DB.prepare(
      "SELECT targets ->> '$[0].name' AS name FROM audit_entries WHERE action = 'operator_token.used'",
    ).all();
    expect(results.filter(({ name }) => name === "POST /set-up/sign-in")).toHaveLength(1);
    expect((await again.look("/users")).status).toBe(200);
  });

  it("an account is deleted within 15 minutes of a login, without a password", async () => {
    const browser = new OidcVisitor(ORIGIN);
    const username = await browser.join(await newPerson());
    only();
    await browser.look("/account");
    const { status } = await browser.send("/account/delete", { username, password: "" });
    expect(status).toBe(303);
  });
});
