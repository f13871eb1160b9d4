/** Signing in and out: accounts, passwords, passkeys, sessions. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { OPERATOR_TOKEN } from "../journey/support/access.ts";
import { addAuthenticator } from "./support/authenticator.ts";
import {
  emailOf,
  fillAccount,
  PASSWORD,
  setUp,
  signIn,
  signOut,
  signUp,
} from "./support/people.ts";
import { OPERATOR, Site } from "./support/site.ts";

/**
 * A page outside the site. The site's first page asks for news and leads to the sign-in by itself, in the
 * middle of another navigation.
 */
const AWAY = "about:blank";

let site: Site;

afterEach(() => site.leave());

describe("where sign-up is open", () => {
  beforeAll(async () => {
    site = await Site.open({}, { models: false });
  });
  afterAll(() => site.close());

  it("an operator with the operator token sets the deployment up, with the user of the models", async () => {
    const visitor = await site.visitor();
    const { page } = visitor;
    await visitor.open("/");
    await page.getByRole("link", { name: "Set it up" }).click();
    await visitor.arrives("/set-up");
    await page.getByLabel("Operator token").fill("not the one that is asked for");
    await fillAccount(visitor, OPERATOR);
    visitor.expects(401, "/set-up");
    await page.getByRole("button", { name: "Set up" }).click();
    await page.getByRole("alert").waitFor();
    await visitor.look();
    await setUp(visitor, OPERATOR, OPERATOR_TOKEN);
    await page.getByRole("link", { name: "Users", exact: true }).click();
    await visitor.arrives("/users");
    await page.getByRole("link", { name: "Fleet", exact: true }).click();
    await visitor.arrives("/fleet");
  });

  it("an empty list of models leads to the first model", async () => {
    const stranger = await site.visitor();
    await stranger.open("/models");
    await stranger.page.getByText("No models yet").waitFor();
    const visitor = await site.visitor({ as: "ellen" });
    await visitor.open("/models");
    await visitor.page.getByRole("link", { name: "Publish the first one" }).click();
    await visitor.arrives("/models/publish");
  });

  it("a new user signs up, signs out, and signs in again with the password", async () => {
    const visitor = await site.visitor();
    const { page } = visitor;
    await visitor.open("/");
    await page.getByRole("link", { name: "Sign in" }).first().click();
    await visitor.arrives("/sign-in");
    await page.getByRole("link", { name: "Create an account" }).click();
    await signUp(visitor, "grace");
    await page.getByText("grace", { exact: true }).first().waitFor();
    await signOut(visitor);
    await visitor.open("/");
    expect(await page.getByText("grace").count()).toBe(0);
    await signIn(visitor, "grace");
    await visitor.arrives("/");
    await page.getByText("grace", { exact: true }).first().waitFor();
    // A user sees no link to a page for operators, and the page is a 404.
    expect(await page.getByRole("link", { name: "Fleet" }).count()).toBe(0);
    await visitor.open("/users", { status: 404 });
  });

  it("an error in an account is shown at its field, and the typed values are kept", async () => {
    await site.clientOf("alan");
    const visitor = await site.visitor();
    const { page } = visitor;
    await visitor.open("/sign-up");
    await fillAccount(visitor, "alan");
    visitor.expects(422, "/sign-up");
    await page.getByRole("button", { name: "Create account" }).click();
    await page
      .getByText("is taken")
      .or(page.getByText("An account with this email address exists"))
      .waitFor();
    await visitor.look();
    expect(await page.getByLabel("Username").inputValue()).toBe("alan");
    expect(await page.getByLabel("Email").inputValue()).toBe(emailOf("alan"));
    expect(await page.getByLabel("Password").inputValue()).toBe("");
  });

  it("a wrong password and an unknown address are refused", async () => {
    await site.clientOf("alan");
    const visitor = await site.visitor();
    const said: (string | null)[] = [];
    for (const [who, password] of [
      ["alan", `${PASSWORD}s`],
      ["nobody", PASSWORD],
    ] as const) {
      await visitor.open("/sign-in");
      visitor.expects(403, "/sign-in");
      await signIn(visitor, who, password);
      said.push(await visitor.page.getByRole("alert").textContent());
      await visitor.look();
      expect(await visitor.page.getByLabel("Email").inputValue()).toBe(emailOf(who));
    }
    // The two messages are the same, so they do not reveal who has an account.
    expect(said[0]).toMatch(/password/i);
    expect(said[1]).toBe(said[0]);
  });

  it("a sign-in leads to the page that was asked for before", async () => {
    await site.clientOf("alan");
    const visitor = await site.visitor();
    const asked = "/predictions?status=failed";
    await visitor.page.goto(asked);
    await visitor.arrives(`/sign-in?next=${encodeURIComponent(asked)}`);
    await signIn(visitor, "alan");
    await visitor.arrives(asked);
  });

  it("signing out everywhere ends the sessions of other browsers at once", async () => {
    const here = await site.visitor();
    await signUp(here, "joan");
    const there = await site.visitor({ phone: true });
    await signIn(there, "joan");
    await there.arrives("/");
    await there.page.goto(AWAY);
    await here.open("/account/security");
    here.page.once("dialog", (dialog) => dialog.accept());
    await here.page.getByRole("button", { name: "Sign out everywhere" }).click();
    await here.arrives("/sign-in");
    await there.page.goto("/tokens");
    await there.arrives("/sign-in?next=%2Ftokens");
  });

  it("one session is ended from another, and a new password ends the others", async () => {
    const here = await site.visitor();
    await signUp(here, "hedy");
    const [second, third] = [await site.visitor(), await site.visitor()];
    await signIn(second, "hedy");
    await second.arrives("/");
    await second.page.goto(AWAY);
    await here.open("/account/security");
    await here.page.getByRole("button", { name: "Sign out", exact: true }).last().click();
    await here.page.getByText("Session signed out.").waitFor();
    await second.page.goto("/tokens");
    await second.arrives("/sign-in?next=%2Ftokens");

    await signIn(third, "hedy");
    await third.arrives("/");
    await third.page.goto(AWAY);
    await here.page.getByLabel("Current password").fill(PASSWORD);
    await here.page.getByLabel("New password").fill("a wiser younger owl");
    await here.page.getByRole("button", { name: "Change password" }).click();
    await here.page.getByText("Password changed.").waitFor();
    await here.look();
    await third.page.goto("/tokens");
    await third.arrives("/sign-in?next=%2Ftokens");
    await signIn(third, "hedy", "a wiser younger owl");
    await third.arrives("/tokens");
  });

  it("a passkey is added, signs in without a password, and is removed", async () => {
    const visitor = await site.visitor();
    const { page } = visitor;
    await addAuthenticator(visitor);
    await signUp(visitor, "mary");
    await visitor.open("/account/security");
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByText("Passkey of").waitFor();
    await visitor.look();
    await signOut(visitor);
    await visitor.open("/sign-in?next=/account/security");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await visitor.arrives("/account/security");
    page.once("dialog", (dialog) => dialog.accept());
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("Passkey removed.").waitFor();
    expect(await page.getByText("Passkey of").count()).toBe(0);
  });
});

describe("where sign-up is by invitation", () => {
  beforeAll(async () => {
    site = await Site.open({ SIGN_UP: "invitation" });
  });
  afterAll(() => site.close());

  it("an operator's invitation lets one user in, once", async () => {
    const operator = await site.visitor({ as: OPERATOR });
    await operator.open("/users");
    await operator.page.getByText("Invite a user").click();
    await operator.page.getByLabel("Recipient").fill("Grace, of the navy");
    await operator.page.getByRole("button", { name: "Create invitation" }).click();
    const link = await operator.page
      .locator("code", { hasText: "/sign-up#invitation=" })
      .innerText();
    await operator.look();

    const uninvited = await site.visitor();
    await uninvited.open("/sign-up");
    expect(await uninvited.page.getByRole("textbox").count()).toBe(0);

    const guest = await site.visitor();
    await guest.page.goto(link);
    await guest.page.getByText("Grace, of the navy").waitFor();
    await guest.look();
    await fillAccount(guest, "grace");
    await guest.page.getByRole("button", { name: "Create account" }).click();
    await guest.arrives("/");
    await guest.page.getByText("grace", { exact: true }).first().waitFor();

    // The link adds only a fragment to the open page, which does not load again but still uses the
    // invitation.
    const answered = uninvited.page.waitForResponse((one) => one.url() === `${site.url}/sign-up`);
    await uninvited.page.goto(link);
    expect((await answered).status()).toBe(200);
    await uninvited.page.getByText("You need an invitation to create an account").waitFor();
    expect(uninvited.page.url()).toBe(`${site.url}/sign-up`);
    expect(await uninvited.page.getByRole("textbox").count()).toBe(0);
  });
});

describe("where sign-up is closed", () => {
  beforeAll(async () => {
    site = await Site.open({ SIGN_UP: "closed" });
  });
  afterAll(() => site.close());

  it("nobody can sign up, and the page says so", async () => {
    const visitor = await site.visitor();
    await visitor.open("/sign-up");
    await visitor.page.getByText("Sign-up is closed on this deployment").waitFor();
    expect(await visitor.page.getByRole("textbox").count()).toBe(0);
    await visitor.open("/sign-in");
    expect(await visitor.page.getByRole("link", { name: "Create an account" }).count()).toBe(0);
  });
});
