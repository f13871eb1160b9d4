/** Logging in and out: an account, a terminal, a passkey. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Site, signIn, signOut, signUp } from "./support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a new user signs up, logs out, and logs in again with the password", async () => {
  const visitor = await site.visitor();
  const { page } = visitor;
  await visitor.open("/");
  await page.getByRole("link", { name: "Log in" }).first().click();
  await visitor.arrives("/sign-in");
  await page.getByRole("link", { name: "Create an account" }).click();
  await signUp(visitor, "greta");
  await page.getByText("greta", { exact: true }).first().waitFor();
  await signOut(visitor);
  await visitor.open("/");
  expect(await page.getByText("greta").count()).toBe(0);
  await signIn(visitor, "greta");
  await visitor.arrives("/");
  await page.getByText("greta", { exact: true }).first().waitFor();
  // A user sees no link to a page for operators, and the page is a 404.
  expect(await page.getByRole("link", { name: "Fleet" }).count()).toBe(0);
  await visitor.open("/users", { status: 404 });
});

it("a passkey is added, logs in without a password, and is removed", async () => {
  const visitor = await site.visitor();
  const { page } = visitor;
  // A device that keeps passkeys, and confirms each use.
  const protocol = visitor.protocol();
  await protocol.send("WebAuthn.enable");
  await protocol.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await signUp(visitor, "mary");
  await visitor.open("/account/security");
  await page.getByRole("button", { name: "Add passkey" }).click();
  await page.getByText("Passkey of").waitFor();
  await visitor.look();
  await signOut(visitor);
  await visitor.open("/sign-in?next=/account/security");
  await page.getByRole("button", { name: "Log in with a passkey" }).click();
  await visitor.arrives("/account/security");
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("Passkey removed.").waitFor();
  expect(await page.getByText("Passkey of").count()).toBe(0);
});
