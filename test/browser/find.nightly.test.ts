/** The current page in the navigation, and Ctrl-K. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { model } from "../../src/protocol/model.ts";
import { OPERATOR, Site } from "./support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterAll(() => site.close());

it("Ctrl-K opens a dialog that finds models and pages by keyboard alone", async () => {
  const client = await site.clientOf("fiona");
  await client.call(model, "POST", "/models", {
    body: { name: "compiler", visibility: "private" },
  });
  const visitor = await site.visitor({ as: "fiona" });
  const { page } = visitor;
  const dialog = page.getByRole("dialog", { name: "Find" });
  await visitor.open("/");
  await page.keyboard.press("Control+k");
  await dialog.getByRole("link", { name: "Access tokens" }).waitFor();
  await visitor.look();
  if (process.env.AUSPEX_PICTURES)
    await page.screenshot({ path: `${process.env.AUSPEX_PICTURES}/find.png` });

  await page.keyboard.type("compil");
  await dialog.getByRole("link", { name: "fiona/compiler" }).waitFor();
  await page.keyboard.press("Enter");
  await visitor.arrives("/models/fiona/compiler");

  // The text is typed at once, and Enter pressed before any result has come.
  await page.keyboard.press("Control+k");
  await page.keyboard.type("billing");
  await page.keyboard.press("Enter");
  await visitor.arrives("/account/usage");

  await page.getByRole("link", { name: "Find", exact: true }).click();
  await dialog.getByRole("link", { name: "Models", exact: true }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("Models");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.type("zzqq");
  await dialog.getByRole("link", { name: "Search the docs for “zzqq”" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });

  await visitor.leave();
});

it("the navigation shows the current place on a phone, also one beyond the edge", async () => {
  const visitor = await site.visitor({ as: OPERATOR, phone: true });
  for (const [path, places, name] of [
    ["/users", "Main", "Users"],
    ["/account/delete", "Account", "Danger zone"],
  ] as const) {
    await visitor.open(path);
    const row = visitor.page.getByRole("navigation", { name: places });
    const place = row.getByRole("link", { name, exact: true });
    const [outer, inner] = [await row.boundingBox(), await place.boundingBox()];
    if (!outer || !inner) throw new Error(`${path} does not show ${name}`);
    expect(
      await row.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth),
    ).toBeGreaterThan(0);
    expect(inner.x).toBeGreaterThanOrEqual(outer.x);
    expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width);
  }
  await visitor.leave();
});
