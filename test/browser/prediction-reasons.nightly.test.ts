/** The live page of a prediction that waits, fails, or whose connection breaks. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { runnerState } from "../../src/protocol/fleet.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import type { Runner } from "../journey/support/runner.ts";
import { badge, createWith } from "./support/prediction-page.ts";
import { Site } from "./support/site.ts";

const WHO = "barbara";

let site: Site;
let client: Client;
let runner: Runner;

beforeAll(async () => {
  site = await Site.shared();
  [runner, client] = await Promise.all([site.world.runner("box"), site.clientOf(WHO)]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

const create = (model: string, input: object) => createWith(client, model, input);

const get = (id: string) => client.call(predictionWithIO, "GET", `/predictions/${id}`);

const open = (gate: string) => runner.open("gated", gate);

it("a waiting prediction says why it waits, and keeps that up to date until it runs", async () => {
  const [state] = await site.world.runnerStates();
  const turn = (action: "drain" | "resume") =>
    site.world.operator.call(runnerState, "POST", `/operator/runners/${state?.id}/${action}`);
  await turn("drain");
  const id = await create("gated", { before: ["a"], gate: "waited" });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  const why = page.locator("[data-why]");
  const reason = why.filter({ hasText: "No cpu runner is accepting work." });
  await reason.waitFor();
  await visitor.look();
  await why.evaluate((place) => {
    place.textContent = "What it was before.";
  });
  await reason.waitFor();
  const logs = page.locator("summary", { hasText: "Logs" });
  expect(await logs.isHidden()).toBe(true);
  await turn("resume");
  await page.locator("[data-logs] .line").first().waitFor();
  expect(await logs.isVisible()).toBe(true);
  open("waited");
  await badge(visitor, "succeeded");
  await why.waitFor({ state: "detached" });
});

it("a failed prediction says why in words, and runs again at a click", async () => {
  const id = await create("sums", { numbers: [1, 2], mode: "fail" });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await badge(visitor, "failed");
  await page.locator(".problem", { hasText: "Model error: Told to fail" }).waitFor();
  await page.getByRole("button", { name: "Remove data" }).waitFor();
  expect(await page.locator("[data-problem]").isHidden()).toBe(true);
  await page.locator("[data-logs]").getByText("sum of 2 numbers").waitFor();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL(({ pathname }) => !pathname.endsWith(id));
  await page.getByText("Started a new prediction with the same input.").waitFor();
  await badge(visitor, "failed");
});

it("a page shows the stored output when a restart has lost what it showed", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  const id = await create("gated", { before: ["a"], gate: "lossy" });
  await page.route("**/events?*", async (route) => {
    open("lossy");
    await expect.poll(async () => (await get(id)).status).toBe("succeeded");
    const after = Number(new URL(route.request().url()).searchParams.get("after_id"));
    const events = [
      { id: after + 1, event: "output", data: "never kept" },
      { id: after + 2, event: "logs", data: "nor this\n" },
      { id: after + 5_000, event: "done", data: {} },
    ];
    const body = events
      .map((one) => `id: ${one.id}\nevent: ${one.event}\ndata: ${JSON.stringify(one.data)}\n\n`)
      .join("");
    await route.fulfill({ contentType: "text/event-stream", body });
  });
  await visitor.open(`/predictions/${id}`);
  await page.getByRole("button", { name: "Remove data" }).waitFor();
  const { output } = await get(id);
  const kept = Array.isArray(output) ? output.join("") : expect.fail("no list");
  expect(await page.locator("[data-output]").textContent()).toBe(kept);
  expect(await page.locator(".prediction-view").textContent()).not.toMatch(/never kept|nor this/);
  await page.unroute("**/events?*");
});

it("a page asks again for an end that does not come, and says when it cannot get it", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  const started = async (gate: string) => {
    const id = await create("gated", { before: ["a"], gate });
    await visitor.open(`/predictions/${id}`);
    await page.locator("[data-output]").getByText("a", { exact: true }).waitFor();
    // The page asks for nothing more after this until the end.
    await page.locator(".timeline .past", { hasText: "First output" }).waitFor();
  };
  await started("again");
  let refused = 0;
  await page.route("**/view", (route) => {
    if (++refused > 2) return route.continue();
    return route.abort("aborted");
  });
  open("again");
  await page.getByRole("button", { name: "Run again" }).waitFor();
  expect(refused).toBeGreaterThan(2);
  expect(await page.locator("[data-problem]").isHidden()).toBe(true);
  await page.unroute("**/view");
  await started("out");
  await page.context().clearCookies();
  open("out");
  await page.getByText("You are logged out. Log in, then reload the page.").waitFor();
  // The time of a run whose state is unknown does not count on, and its cancel cannot be pressed.
  expect(await page.locator("[data-since]").count()).toBe(0);
  expect(await page.locator("[data-cancel]").isDisabled()).toBe(true);
});
