/** Rarer answers of an OpenID Connect provider, and rarer links to it. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import {
  isSignedIn,
  link,
  member,
  newPerson,
  oidcSettings,
  rotateKeys,
  SECURITY,
  visitor,
} from "../support/oidc.ts";
import { signedUpOperator } from "../support/visitor.ts";

const { settings } = getServices(env);
const oidc = oidcSettings();

beforeEach(() => {
  Object.assign(oidc, oidcSettings());
  settings.oidc = oidc;
});
afterEach(() => {
  settings.oidc = undefined;
  settings.signUp = "open";
});

describe("login with OpenID Connect", () => {
  it("a provider may keep claims at its userinfo endpoint", async () => {
    const browser = visitor();
    await browser.join(await newPerson({ thin: true }));
    expect(await isSignedIn(browser)).toBe(true);
  });

  it("a key that the provider has rotated is followed", async () => {
    const person = await newPerson();
    await visitor().join(person);
    await rotateKeys();
    expect(await visitor().enter(person)).toBe("/");
  });

  it("a login leads to a page of this deployment", async () => {
    const person = await newPerson();
    await visitor().join(person);
    for (const next of ["https://evil.example.com", "//evil.example.com", "/\\evil.example.com"])
      expect(await visitor().enter(person, next)).toBe("/");
  });

  it("a person without an email address is told why there is no account", async () => {
    const person = await newPerson({ claims: { email: undefined } });
    const browser = visitor();
    const address = await browser.enter(person);
    expect(address).toBe("/sign-in?error=email_not_found");
    expect((await browser.look(address ?? "")).html).toContain("sent no email address");
  });

  it("an issuer that the provider does not call itself is an error that says so", async () => {
    oidc.issuer += "/";
    const { status, html } = await visitor().send("/sign-in/oidc", { next: "/" });
    expect(status).toBe(503);
    expect(html).toContain("An operator has to set OIDC_ISSUER");
  });
});

describe("linking with OpenID Connect", () => {
  it("the only way to log in is not unlinked", async () => {
    const browser = visitor();
    await browser.join(await newPerson());
    expect((await browser.look(SECURITY)).html).toContain("This is your only way to log in.");
    const { status, html } = await browser.send(`${SECURITY}/oidc/unlink`);
    expect(status).toBe(409);
    expect(html).toContain("your only way to log in");
  });

  it("a new password by an operator's link ends the links that somebody else may have made", async () => {
    const { browser, username } = await member();
    const person = await newPerson();
    await link(browser, person);
    const { visitor: operator } = await signedUpOperator(env.OPERATOR_TOKEN);
    const { html } = await operator.send("/users/invitations", { note: "Ann", username });
    const [, invitation = ""] = /#invitation=(\w+)/.exec(html) ?? [];
    const guest = visitor();
    expect(
      (await guest.send("/sign-up", { invitation, password: "another long password" })).status,
    ).toBe(303);
    expect(await visitor().enter(person)).toBe("/welcome");
  });
});
