/**
 * Sessions and refused forms of people who log in. test/worker/dashboard/sign-in.test.ts holds the same without
 * a browser.
 */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { emailOf, fillAccount, PASSWORD, Site, signIn, signUp } from "./support/site.ts";

/**
 * A page outside the site. The site's first page asks for news and leads to the login by itself, in the
 * middle of another navigation.
 */
const AWAY = "about:blank";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterEach(() => site.leave());
afterAll(() => site.close());

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

it("a login leads to the page that was asked for before", async () => {
  await site.clientOf("alan");
  const visitor = await site.visitor();
  const asked = "/predictions?status=failed";
  await visitor.page.goto(asked);
  await visitor.arrives(`/sign-in?next=${encodeURIComponent(asked)}`);
  await signIn(visitor, "alan");
  await visitor.arrives(asked);
});

it("logging out everywhere ends the sessions of other browsers at once", async () => {
  const here = await site.visitor();
  await signUp(here, "joan");
  const there = await site.visitor({ phone: true });
  await signIn(there, "joan");
  await there.arrives("/");
  await there.page.goto(AWAY);
  await here.open("/account/security");
  here.page.once("dialog", (dialog) => dialog.accept());
  await here.page.getByRole("button", { name: "Log out everywhere" }).click();
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
  await here.page.getByRole("button", { name: "Log out", exact: true }).last().click();
  await here.page.getByText("Session logged out.").waitFor();
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
