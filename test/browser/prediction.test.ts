/** The live page of a prediction: a run as it goes on, a reload in the middle, cancelling, the list. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import type { Runner } from "../journey/support/runner.ts";
import { badge, createWith, outputIn } from "./support/prediction-page.ts";
import { OPERATOR, Site } from "./support/site.ts";

const WHO = "rosa";

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

it("a text grows word by word, and goes on after a reload without losing or repeating a word", async () => {
  // The run lasts longer than the test on any machine: it is cancelled at the end.
  const id = await create("text-generation", {
    prompt: "The Queen",
    max_tokens: 2_000,
    delay_ms: 50,
  });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  const seen: string[] = [];
  /** Waits until there are this many characters more. */
  const grown = async (more: number) => {
    const least = (seen.at(-1)?.length ?? 0) + more;
    await page.waitForFunction(
      (length) => (document.querySelector("[data-output]")?.textContent.length ?? 0) >= length,
      least,
    );
    seen.push((await page.locator("[data-output]").textContent()) ?? "");
  };
  for (const more of [20, 20]) await grown(more);
  for (let n = 0; n < 3; n++) {
    await page.reload();
    for (const more of [1, 20]) await grown(more);
  }
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Run again" }).waitFor();
  const { output } = await get(id);
  const whole = Array.isArray(output) ? output.join("") : expect.fail("no list");
  expect(await page.locator("[data-output]").textContent()).toBe(whole);
  for (const text of seen) expect(whole.startsWith(text)).toBe(true);
  await visitor.look();
  await visitor.open(`/predictions/${id}`);
});

it("a canceled prediction announces it to screen readers, and is in the list", async () => {
  const id = await create("gated", { before: ["a", "b"], gate: "never" });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await page.locator("[data-output]").getByText("b", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await badge(visitor, "canceled");
  const announced = page.getByRole("status").filter({ hasText: "Status: canceled" });
  await announced.waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Remove data" }).waitFor();
  expect((await get(id)).status).toBe("canceled");
  expect(await outputIn(visitor)).toMatch(/^a\s+b$/);
  await visitor.look();
  await visitor.open("/predictions?statuses=canceled");
  await page.locator(`[data-row="${id}"]`).getByText("canceled").waitFor();
});

it("a prediction is followed in the list, where new ones appear, also where nothing ran before", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open("/predictions");
  expect(await page.locator("[data-live]").count()).toBe(0);
  const id = await create("gated", { before: ["x"], gate: "list" });
  const row = (which: string) => page.locator(`[data-row="${which}"]`);
  await row(id).getByText("started").waitFor();
  const link = row(id).getByRole("link").first();
  await link.focus();
  await link.selectText();
  await page.setViewportSize({ width: 1280, height: 100 });
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  const next = await create("hello", { name: "you" });
  await row(next).getByText("succeeded").waitFor();
  const { focused, selected, top } = await page.evaluate(() => ({
    focused: document.activeElement?.closest("[data-row]")?.getAttribute("data-row"),
    selected: getSelection()?.toString(),
    top: document.activeElement?.getBoundingClientRect().top ?? 0,
  }));
  // The focus and the selection stay, and the page does not scroll.
  expect([focused, selected]).toEqual([id, `${OPERATOR}/gated`]);
  expect(top).toBeLessThan(0);
  await visitor.widen();
  open("list");
  await row(id).getByText("succeeded").waitFor();
  await visitor.look();
});
