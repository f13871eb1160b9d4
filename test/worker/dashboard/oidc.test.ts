/** Login with OpenID Connect, at a real provider. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { getServices } from "../../../src/services/services.ts";
import { ORIGINS } from "../../oidc/person.ts";
import { run } from "../support/accounts.ts";
import { newPerson, OidcVisitor, oidcSettings, rotateKeys } from "../support/oidc.ts";
import { PASSWORD, signedUp, signedUpOperator, Visitor } from "../support/visitor.ts";
import { unique } from "../support/world.ts";

const { settings } = getServices(env);
const [ORIGIN] = ORIGINS;
const oidc = oidcSettings();

const visitor = () => new OidcVisitor(ORIGIN);
const REFUSED = /^\/sign-in\?error=\w/;

beforeEach(() => {
  Object.assign(oidc, oidcSettings());
  settings.oidc = oidc;
});
afterEach(() => {
  settings.oidc = undefined;
  settings.signUp = "open";
});

const isSignedIn = async (browser: Visitor) =>
  (await browser.look("/account/security")).status === 200;

describe("login with OpenID Connect", () => {
  it("a new person chooses a username, and is known the next time", async () => {
    const person = await newPerson({ claims: { preferred_username: "Eve.Miller@corp" } });
    const browser = visitor();
    const address = new URL(await browser.leave());
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: "code",
      client_id: "auspex",
      scope: "openid profile email",
      redirect_uri: `${ORIGIN}/auth/callback/oidc`,
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{32}$/),
      state: expect.stringMatching(/^[\w-]{32}$/),
    });
    expect(await browser.arrive(await browser.meet(person, address.href))).toBe("/welcome");
    expect((await browser.look("/account/security")).location).toBe("/welcome");
    const { html } = await browser.look("/welcome");
    expect(html).toContain('value="Eve"');
    expect(html).toContain('value="eve-miller"');
    const username = unique("eve");
    expect((await browser.send("/welcome", { username, name: "Eve" })).location).toBe("/");
    expect((await browser.look("/")).html).toContain(username);
    const again = visitor();
    expect(await again.enter(person, "/account/security")).toBe("/account/security");
    expect((await again.look("/")).html).toContain(username);
  });

  it("a provider may keep claims at its userinfo endpoint", async () => {
    const browser = visitor();
    await browser.join(await newPerson({ thin: true }));
    expect(await isSignedIn(browser)).toBe(true);
  });

  it("no token of the provider is stored", async () => {
    const person = await newPerson();
    await visitor().join(person);
    await visitor().enter(person);
    const { results } = await env.DB.prepare(
      "SELECT * FROM credentials WHERE provider_id = 'oidc' AND account_id = ?",
    )
      .bind(`${oidc.issuer} ${person.sub}`)
      .all();
    expect(results).toEqual([
      expect.objectContaining({
        access_token: null,
        refresh_token: null,
        id_token: null,
        password: null,
      }),
    ]);
  });

  it("a key that the provider has rotated is followed", async () => {
    const person = await newPerson();
    await visitor().join(person);
    await rotateKeys();
    expect(await visitor().enter(person)).toBe("/");
  });

  it.each([
    ["for another client", { aud: "another" }],
    ["for several clients, and issued to another", { aud: ["auspex", "another"], azp: "another" }],
    ["of another issuer", { iss: "https://login.example.com" }],
    ["that has expired", { exp: 1_600_000_000 }],
    ["with another nonce", { nonce: "another" }],
    ["without a nonce", { nonce: null }],
    ["without an expiry", { exp: null }],
  ])("an ID token %s is refused", async (_, forged) => {
    const person = await newPerson();
    await visitor().join(person);
    const { sub, claims } = person;
    await newPerson({ sub, claims, forged });
    const browser = visitor();
    expect(await browser.enter(person)).toMatch(REFUSED);
    expect(await isSignedIn(browser)).toBe(false);
  });

  it("a code is used once", async () => {
    const person = await newPerson();
    await visitor().join(person);
    const browser = visitor();
    const callback = await browser.meet(person, await browser.leave());
    expect(await browser.arrive(callback)).toBe("/");
    const code = new URL(callback, ORIGIN).searchParams.get("code");
    const again = visitor();
    const state = new URL(await again.leave()).searchParams.get("state");
    expect(await again.arrive(callback)).toMatch(REFUSED);
    expect(await again.arrive(`/auth/callback/oidc?code=${code}&state=${state}`)).toMatch(REFUSED);
    expect(await isSignedIn(again)).toBe(false);
  });

  it("a login takes no answer to a question that this browser did not ask", async () => {
    const person = await newPerson();
    const browser = visitor();
    const callback = await browser.meet(person, await browser.leave());
    const another = visitor();
    await another.leave();
    for (const address of [
      callback,
      "/auth/callback/oidc?code=x&state=unknown",
      "/auth/callback/oidc",
    ])
      expect(await another.arrive(address)).toMatch(REFUSED);
    expect(await isSignedIn(another)).toBe(false);
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

  it("a provider that does not answer is an error that says so", async () => {
    oidc.issuer = "http://127.0.0.1:1";
    const { status, html } = await visitor().send("/sign-in/oidc", { next: "/" });
    expect(status).toBe(503);
    expect(html).toContain("The login provider does not answer");
  });

  it("an issuer that the provider does not call itself is an error that says so", async () => {
    oidc.issuer += "/";
    const { status, html } = await visitor().send("/sign-in/oidc", { next: "/" });
    expect(status).toBe(503);
    expect(html).toContain("An operator has to set OIDC_ISSUER");
  });

  it("a login is not offered where there is no provider", async () => {
    settings.oidc = undefined;
    const browser = new Visitor();
    expect((await browser.look("/sign-in")).html).not.toContain("Acme");
    expect((await browser.send("/sign-in/oidc")).status).toBe(404);
    expect((await browser.look("/auth/callback/oidc?code=x&state=y")).status).toBe(404);
  });
});

describe("who may create an account with OpenID Connect", () => {
  const OF_DOMAIN = { email_verified: true };

  it("people of OIDC_DOMAINS may, where sign-up is by invitation", async () => {
    settings.signUp = "invitation";
    oidc.domains = ["corp.example.com"];
    const of = (email: string, verified: unknown) =>
      newPerson({ claims: { ...OF_DOMAIN, email, email_verified: verified } });
    await visitor().join(await of(`${unique("a")}@Corp.Example.Com`, true));
    await visitor().join(await of(`${unique("a")}@corp.example.com`, "true"));
    for (const [email, verified] of [
      [`${unique("a")}@corp.example.com`, false],
      [`${unique("a")}@corp.example.com`, undefined],
      [`${unique("a")}@evil-corp.example.com`, true],
      [`${unique("a")}@corp.example.com.evil.example`, true],
    ] as const) {
      expect(await visitor().enter(await of(email, verified))).toBe("/sign-in?error=not_admitted");
    }
  });

  it("others may not, where OIDC_DOMAINS is set and sign-up is open", async () => {
    oidc.domains = ["corp.example.com"];
    const browser = visitor();
    const address = await browser.enter(await newPerson());
    expect(address).toBe("/sign-in?error=not_admitted");
    expect((await browser.look(address ?? "")).html).toContain("Ask an operator for an invitation");
  });

  it("SIGN_UP decides without OIDC_DOMAINS", async () => {
    settings.signUp = "closed";
    expect(await visitor().enter(await newPerson())).toBe("/sign-in?error=not_admitted");
  });
});

describe("linking with OpenID Connect", () => {
  const SECURITY = "/account/security";

  async function member() {
    const browser = visitor();
    const username = unique("ann");
    const email = `${username}@example.com`;
    await browser.send("/sign-up", { username, name: "Ann", email, password: PASSWORD });
    await browser.look("/");
    return { browser, username, email };
  }

  const link = async (browser: OidcVisitor, person: Awaited<ReturnType<typeof newPerson>>) =>
    browser.arrive(await browser.meet(person, await browser.leave("/", `${SECURITY}/oidc/link`)));

  it("the email address of an account does not open that account", async () => {
    const { email } = await signedUp();
    const browser = visitor();
    const address = await browser.enter(await newPerson({ claims: { email } }));
    expect(address).toBe("/sign-in?error=account_not_linked");
    expect((await browser.look(address ?? "")).html).toContain("link the two");
    expect(await isSignedIn(browser)).toBe(false);
  });

  it("a person links the two in the session of their account, and may unlink", async () => {
    const { browser, username } = await member();
    const person = await newPerson();
    expect((await browser.look(SECURITY)).html).toContain("Link Acme");
    expect(await link(browser, person)).toBe(SECURITY);
    expect((await browser.look(SECURITY)).html).toContain("Unlink Acme");
    expect((await browser.send(`${SECURITY}/oidc/link`)).status).toBe(409);
    const again = visitor();
    expect(await again.enter(person)).toBe("/");
    expect((await again.look("/")).html).toContain(username);
    expect((await browser.send(`${SECURITY}/oidc/unlink`)).location).toBe(SECURITY);
    expect(await visitor().enter(person)).toBe("/welcome");
  });

  it("the link of one account does not move to another", async () => {
    const [one, two] = [await member(), await member()];
    const person = await newPerson();
    await link(one.browser, person);
    const address = await link(two.browser, person);
    expect(address).toBe(`${SECURITY}?error=account_already_linked_to_different_user`);
    expect((await two.browser.look(address ?? "")).html).toContain("belongs to another account");
    const again = visitor();
    await again.enter(person);
    expect((await again.look("/")).html).toContain(one.username);
  });

  it("a link that another browser began is not completed", async () => {
    const [one, two] = [await member(), await member()];
    const person = await newPerson();
    const url = await one.browser.leave("/", `${SECURITY}/oidc/link`);
    expect(await two.browser.arrive(await two.browser.meet(person, url))).toMatch(/\?error=\w/);
    expect((await one.browser.look(SECURITY)).html).toContain("Link Acme");
    expect((await two.browser.look(SECURITY)).html).toContain("Link Acme");
  });

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

  it("links change only within 15 minutes of a login", async () => {
    const { browser, email } = await member();
    const ago = Date.now() - 15 * 60_000;
    await run(
      "UPDATE sessions SET created_at = ? WHERE user_id = (SELECT id FROM logins WHERE email = ?)",
      ago,
      email,
    );
    expect((await browser.send(`${SECURITY}/oidc/link`)).status).toBe(403);
    expect((await browser.send(`${SECURITY}/oidc/unlink`)).status).toBe(403);
  });
});
