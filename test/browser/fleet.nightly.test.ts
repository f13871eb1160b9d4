/** A runner's life on its operator's pages: added, at work, drained, back, gone, removed. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "../journey/support/end.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a runner is added with a token of its own, works, is drained, works again, and is removed", {
  timeout: 120_000,
}, async () => {
  const visitor = await site.visitor({ as: OPERATOR });
  const { page } = visitor;
  await visitor.open("/fleet");
  await page.getByRole("link", { name: "Add the first runner" }).click();
  await visitor.arrives("/fleet/tokens");
  const token = await makeToken(visitor);

  await visitor.open("/fleet");
  const runner = await site.world.runner("desk", { token });
  const row = page.getByRole("row", { name: runner.name });
  // The page updates itself without a reload.
  await row.getByText("free", { exact: true }).waitFor();
  const running = await site.world.create("gated", { before: ["a"], gate: "open", after: ["b"] });
  await running.first("output");
  await row.getByText("running", { exact: true }).waitFor();
  await row.getByText(`${OPERATOR}/gated:1`).waitFor();
  await row.getByText(OPERATOR, { exact: true }).waitFor();
  await visitor.look();
  await visitor.narrow();
  await visitor.widen();
  await page.getByRole("link", { name: "Busiest first" }).click();
  await visitor.arrives("/fleet?sort=load");

  await row.getByRole("link", { name: runner.name }).click();
  await page.getByText("1 of 4 busy").waitFor();
  await page.getByRole("link", { name: running.id.slice(-8) }).waitFor();
  await page.getByRole("button", { name: `Drain ${runner.name}` }).click();
  await page.getByText(`Draining ${runner.name}.`).waitFor();
  await runner.says(/paused by the control plane/);
  await page.getByText("draining", { exact: true }).waitFor();
  await visitor.look();
  runner.open("gated", "open");
  await endOf(site.world, running, "succeeded");
  await visitor.open("/fleet");
  await row.getByText("draining", { exact: true }).waitFor();
  const waiting = await site.world.create("hello", { name: "Ada" });
  const queue = page.getByRole("row", { name: /^cpu / });
  const queued = (many: number) =>
    queue.locator('[data-label="Queued"]', { hasText: new RegExp(`^${many}$`) }).waitFor();
  await queued(1);

  await row.getByRole("link", { name: runner.name }).click();
  await page.getByRole("button", { name: `Resume ${runner.name}` }).click();
  await page.getByText(`${runner.name} resumed.`).waitFor();
  const { output } = await endOf(site.world, waiting, "succeeded");
  expect(output).toBe("Hello, Ada!");
  await visitor.open("/fleet");
  await row.getByText("idle", { exact: true }).waitFor();
  await row.getByText(`${OPERATOR}/`).waitFor();
  await queued(0);

  await row.getByRole("link", { name: runner.name }).click();
  await page.getByRole("button", { name: "Show log" }).click();
  const log = page.locator(".prediction-logs pre");
  await log.getByText("resumed by the control plane").waitFor();
  const text = await log.innerText();
  expect(text).toContain(`prediction=${running.id}`);
  expect(text).not.toMatch(/Ada|ausr_/);
  await visitor.look();
  await visitor.narrow();
  await visitor.widen();
  await visitor.open("/fleet");

  await site.world.retire(runner);
  // The runner does not wait for an answer to its goodbye: if that did not arrive, it is soon offline.
  await row.getByText(/^(stopped|offline)$/).waitFor();
  await row.getByRole("link", { name: runner.name }).click();
  page.once("dialog", (dialog) => dialog.dismiss());
  await page.getByRole("button", { name: `Remove ${runner.name}` }).click();
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: `Remove ${runner.name}` }).click();
  await page.getByText("Runner removed.").waitFor();
  await page.getByText("No runners yet").waitFor();
  await visitor.look();
});

/** Makes a runner token. @returns the token, from the command that starts a runner with it */
async function makeToken(visitor: Visitor): Promise<string> {
  const { page } = visitor;
  await page.getByText("New runner token", { exact: true }).click();
  await page.getByLabel("Name").fill("The desk");
  await page.getByLabel("cpu").check();
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("Your new runner token: The desk").waitFor();
  await visitor.look();
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  expect(command).toContain(`curl -fsSL "${site.url}/auspex-runner.tgz?v=`);
  expect(command).toContain("| sha256sum --check &&");
  const [token] = /ausr_\w+/.exec(command) ?? expect.fail("no token in the command");
  return token;
}
