/** A person who works in their own account and in an organization. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { organization } from "../../src/protocol/organization.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const WHO = "gertrude";
const TEAM = "stein";

let site: Site;
let visitor: Visitor;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
  const client = await site.clientOf(WHO);
  await client.call(organization, "POST", "/organizations", { body: { username: TEAM } });
  visitor = await site.visitor({ as: WHO });
});
afterAll(() => site.close());

async function switchTo(account: string): Promise<void> {
  await visitor.page.locator("header summary").click();
  await visitor.page
    .locator(".menu-items")
    .getByRole("link", { name: account, exact: true })
    .click();
}

it("a person switches to an organization, runs a model as it, sees its usage, and switches back", async () => {
  const { page } = visitor;
  await visitor.open("/account/usage");
  await switchTo(TEAM);
  await visitor.arrives(`/organizations/${TEAM}/usage`);
  await page.getByText("No predictions in the last 30 days").waitFor();
  await page.goto(`/models/${OPERATOR}/hello`);
  await page.getByLabel("name").fill("Alice");
  await page.getByLabel("Run as").selectOption(TEAM);
  await visitor.arrives(`/organizations/${TEAM}/models/${OPERATOR}/hello`);
  expect(await page.getByLabel("name").inputValue()).toBe("Alice");
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText("Hello, Alice!").waitFor();
  await page.getByRole("link", { name: "Predictions", exact: true }).click();
  await visitor.arrives(`/organizations/${TEAM}/predictions`);
  await page.getByText(`by ${WHO}`).waitFor({ state: "attached" });
  const isCounted = async () => {
    await page.goto(`/organizations/${TEAM}/usage`);
    expect(await page.locator("main").innerText()).toContain(`${OPERATOR}/hello`);
  };
  await vi.waitFor(isCounted, { interval: 200 });
  await switchTo(WHO);
  await visitor.arrives("/account/usage");
  await page.getByText("No predictions in the last 30 days").waitFor();
});
