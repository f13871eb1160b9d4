/** Ctrl-K: from anywhere to anything, by keyboard alone. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { model } from "../../src/protocol/model.ts";
import { Site } from "./support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.open({}, { models: false });
});
afterAll(() => site.close());

it("opens, answers as one types, and leads on", async () => {
  const client = await site.clientOf("grace");
  await client.call(model, "POST", "/models", {
    body: { name: "compiler", visibility: "private" },
  });
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  const dialog = page.getByRole("dialog", { name: "Find" });
  await visitor.open("/");
  await page.keyboard.press("Control+k");
  await dialog.getByRole("link", { name: "Access tokens" }).waitFor();
  await visitor.look();
  if (process.env.AUSPEX_PICTURES)
    await page.screenshot({ path: `${process.env.AUSPEX_PICTURES}/find.png` });

  await page.keyboard.type("compil");
  await dialog.getByRole("link", { name: "grace/compiler" }).waitFor();
  await page.keyboard.press("Enter");
  await visitor.arrives("/models/grace/compiler");

  // Typed at once, and Enter before anything has come.
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
  await dialog.getByText("Nothing is called that.").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await visitor.leave();
});
