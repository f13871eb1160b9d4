/** The documentation: every kind of its pages, and the ways between them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { GUIDES, groupPath, PAGES, REFERENCE, SEARCH } from "../../src/dashboard/docs/contents.ts";
import { sized } from "../support/sized.ts";
import { repetitionOn } from "./support/accessibility.ts";
import { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

let site: Site;
let visitor: Visitor;

beforeAll(async () => {
  site = await Site.shared();
  visitor = await site.visitor({ axe: true });
});
afterAll(() => site.close());

const few = [REFERENCE, groupPath("Predictions"), ...[...GUIDES.keys()].slice(0, 2)];
it.each([`${SEARCH}?q=access+token`, ...sized(few, PAGES)])(
  "the documentation's page %s has no faults",
  async (address) => {
    await visitor.open(address);
    await visitor.shoot(`${address}-desk`);
    await visitor.narrow();
    await visitor.shoot(`${address}-phone`);
    await visitor.zoom();
    await visitor.page.evaluate(() => document.documentElement.setAttribute("dir", "rtl"));
    await visitor.narrow();
    await visitor.widen();
  },
);

it("axe sees one part of each kind on the reference, and each part that is like no other", async () => {
  const { page } = visitor;
  await page.goto(groupPath("Operator"));
  await page
    .locator("article")
    .last()
    .evaluate((article) => article.append(new Image()));
  const elements = () => page.locator("*").count();
  const all = await elements();
  const repetition = await repetitionOn(page);
  await repetition.evaluate((one) => one.takeOut());
  expect(await elements()).toBeLessThan(all / 4);
  expect(await page.locator("article img").count()).toBe(1);
  await repetition.evaluate((one) => one.giveBack());
  expect(await elements()).toBe(all);
});

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
