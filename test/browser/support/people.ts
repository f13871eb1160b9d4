/** Signing up, in and out through the pages for it. */
import type { Visitor } from "./visitor.ts";

export const PASSWORD = "a wise old owl";

export const emailOf = (username: string) => `${username}@example.com`;

/** Makes an account that anybody may make. Ends at the first page. */
export async function signUp(visitor: Visitor, username: string): Promise<void> {
  await visitor.open("/sign-up");
  await fillAccount(visitor, username);
  await visitor.page.getByRole("button", { name: "Create account" }).click();
  await visitor.arrives("/");
}

/** Makes the account of an operator, or takes over one that the API has made. */
export async function setUp(
  visitor: Visitor,
  username: string,
  operatorToken: string,
): Promise<void> {
  await visitor.open("/set-up");
  await visitor.page.getByLabel("Operator token").fill(operatorToken);
  await fillAccount(visitor, username);
  await visitor.page.getByRole("button", { name: "Set up" }).click();
  await visitor.page.getByText("You are now an operator of this deployment").waitFor();
  await visitor.look();
}

/** Signs in; ends at the page that this leads to. */
export async function signIn(
  visitor: Visitor,
  username: string,
  password = PASSWORD,
): Promise<void> {
  const { page } = visitor;
  if (new URL(page.url()).pathname !== "/sign-in") await visitor.open("/sign-in");
  await page.getByLabel("Email").fill(emailOf(username));
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Signs out by the menu, which is on every page. */
export async function signOut(visitor: Visitor): Promise<void> {
  await visitor.page.locator("header summary").click();
  await visitor.page.getByRole("button", { name: "Sign out", exact: true }).first().click();
  await visitor.arrives("/sign-in");
}

/** Fills in the fields of a new account, in any of the forms with them. */
export async function fillAccount({ page }: Visitor, username: string): Promise<void> {
  await page.getByLabel("Username").fill(username);
  await page.getByLabel(/^Name/).fill(`${username} of the tests`);
  await page.getByLabel("Email").fill(emailOf(username));
  await page.getByLabel("Password").fill(PASSWORD);
}
