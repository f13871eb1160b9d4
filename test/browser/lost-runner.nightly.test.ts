/** A runner that is killed while its operator reads its log, and that comes back. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { OPERATOR, Site } from "./support/site.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a killed runner's log says that it is unreachable, keeps its lines, and goes on once the runner is back", {
  timeout: 120_000,
}, async () => {
  const visitor = await site.visitor({ as: OPERATOR });
  const { page } = visitor;
  const runner = await site.world.runner("desk");
  await visitor.open("/fleet");
  await page.getByRole("link", { name: runner.name }).click();
  await page.getByRole("button", { name: "Show log" }).click();
  const log = page.locator(".prediction-logs pre");
  const lines = log.locator(".line");
  await lines.first().waitFor();

  await runner.kill();
  await page.getByText("Unavailable while the runner is offline").waitFor({ timeout: 45_000 });
  await lines.first().waitFor();
  await visitor.look();

  const taken = page.getByText(/^Last (\d+ lines|line), as of/);
  const before = await taken.innerText();
  const next = site.world.update(runner);
  await expect.poll(() => taken.innerText(), { timeout: 30_000 }).not.toBe(before);
  await page.getByRole("button", { name: "Refresh" }).waitFor();
  await site.world.retire(next);
});
