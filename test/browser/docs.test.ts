/** The documentation: every kind of its pages, and the ways between them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { GUIDES, groupPath, PAGES, SEARCH } from "../../src/dashboard/docs/contents.ts";
import { sized } from "../support/sized.ts";
import { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

let site: Site;
let visitor: Visitor;
/** A visitor whose every page is checked with axe. */
let critic: Visitor;

beforeAll(async () => {
  site = await Site.shared();
  [visitor, critic] = [await site.visitor(), await site.visitor({ axe: true })];
});
afterAll(() => site.close());

const few = [groupPath("Predictions"), ...[...GUIDES.keys()].slice(0, 1)];
it.each([`${SEARCH}?q=access+token`, ...sized(few, PAGES)])(
  "the documentation's page %s has no faults",
  async (address) => {
    await critic.open(address);
    await critic.shoot(`${address}-desk`);
    await critic.narrow();
    await critic.shoot(`${address}-phone`);
    await critic.zoom();
    await critic.page.evaluate(() => document.documentElement.setAttribute("dir", "rtl"));
    await critic.narrow();
    await critic.widen();
  },
);

it("the documentation leads from page to page, copies code, and leads back", async () => {
  const { page } = visitor;
  await visitor.open("/");
  await page.getByRole("link", { name: "Docs", exact: true }).click();
  await visitor.arrives("/docs");
  await page.getByRole("link", { name: "Files", exact: true }).first().click();
  await visitor.arrives("/docs/files");
  await page.locator(".copy").first().getByRole("button", { name: "Copy" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain(`export AUSPEX_URL=${site.url}`);
  await page.getByRole("searchbox", { name: "Search the docs" }).fill("verify a signature");
  await page.keyboard.press("Enter");
  await visitor.arrives("/docs/search?q=verify+a+signature");
  await page.locator(".found a").first().click();
  await visitor.arrives(/^\/docs\/webhooks/);
  await page.getByRole("link", { name: "Auspex", exact: true }).click();
  await visitor.arrives("/");
});

it("the documentation's navigation unfolds on a phone", async () => {
  const { page } = visitor;
  await visitor.open("/docs/files");
  const link = page.getByRole("link", { name: "Webhooks", exact: true });
  expect(await link.isVisible()).toBe(true);
  await visitor.narrow();
  expect(await link.isVisible()).toBe(false);
  await page.getByText("Guides and reference").click();
  await link.click();
  await visitor.arrives("/docs/webhooks");
  await visitor.widen();
});
