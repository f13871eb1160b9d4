/** The parts of a prediction's page: its log, its webhooks, and outputs of each kind. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { BEGINNING } from "../../src/domain/predictions/display-limits.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { prediction } from "../../src/protocol/prediction.ts";
import { webhookEvent } from "../../src/protocol/webhook.ts";
import type { Runner } from "../journey/support/runner.ts";
import { Receiver } from "../receiver/receiver.ts";
import { badge, createWith, outputIn } from "./support/prediction-page.ts";
import { OPERATOR, Site } from "./support/site.ts";

const WHO = "vera";

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

const open = (gate: string) => runner.open("gated", gate);

it("a log is in color, grows and can be downloaded", async () => {
  const id = await create("gated", { before: ["a"], gate: "log", after: ["b"] });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await page.locator("[data-logs] .fg-1", { hasText: "closed" }).waitFor();
  await visitor.look();
  const lines = page.locator("[data-logs] .line:visible");
  expect(await lines.first().textContent()).toContain("waits at");
  open("log");
  await badge(visitor, "succeeded");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(".log-tools a").click(),
  ]);
  expect(file.suggestedFilename()).toBe(`${id}.log.txt`);
});

it("a running prediction opens at the end of its log", async () => {
  const gate = `end${"\n.".repeat(60)}`;
  const id = await create("gated", { before: ["a"], gate });
  const visitor = await site.visitor({ as: WHO });
  await visitor.open(`/predictions/${id}`);
  const log = visitor.page.locator("[data-logs]");
  await log.getByText("closed").waitFor();
  // The log gets no lines from now on that would scroll it.
  await visitor.page.reload();
  const below = (box: Element) => box.scrollHeight - box.clientHeight - box.scrollTop;
  expect(await log.evaluate((box) => box.scrollTop)).toBeGreaterThan(0);
  expect(await log.evaluate(below)).toBeLessThan(2);
  await visitor.page.getByRole("button", { name: "Cancel" }).click();
  await badge(visitor, "canceled");
});

it("a page goes on when its stream ends, without the message of a lost connection", async () => {
  const id = await create("gated", { before: ["a"], gate: "later", after: ["b"] });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  // The server ends a stream in this way after five minutes.
  const ended = { contentType: "text/event-stream", body: "retry: 50\n\n" };
  await page.route("**/events?*", (route) => route.fulfill(ended), { times: 1 });
  const again = page.waitForRequest((request) => request.url().includes("/events?"));
  await page.addInitScript(() => {
    new MutationObserver(() => {
      const problem = document.querySelector("[data-problem]:not([hidden])");
      const words = problem?.textContent ?? document.title;
      if (document.title !== words) document.title = words;
    }).observe(document, { subtree: true, attributes: true, childList: true });
  });
  await visitor.open(`/predictions/${id}`);
  await again;
  open("later");
  await page.locator("[data-output]").getByText("b", { exact: true }).waitFor();
  await badge(visitor, "succeeded");
  expect(await page.title()).toMatch(/^Prediction …\w+ of ada\/gated/);
});

it("a page follows the prediction's webhooks after its end", async () => {
  const receiver = await Receiver.open();
  receiver.script("/hook", [{ status: 500 }, { status: 200 }]);
  const webhook = { url: `${receiver.url}/hook`, events: ["completed"] };
  const body = { model: `${OPERATOR}/hello`, input: { name: "you" }, webhook };
  const { id } = await client.call(prediction, "POST", "/predictions", { body });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  const tries = page.locator(".deliveries summary");
  await tries.click();
  await page.locator(".deliveries").getByText("retrying").waitFor();
  const path = `/predictions/${id}/webhooks`;
  const { items } = await client.call(pageOf(webhookEvent), "GET", path);
  await client.fetch("POST", `${path}/${items[0]?.id}/redeliver`);
  await page.locator(".deliveries").getByText("delivered").waitFor();
  expect(await tries.textContent()).toBe("2 attempts, last: 200");
  // The unfolded delivery stays unfolded.
  await page.locator(".deliveries").getByText("200 after").waitFor();
  await visitor.open("/account/webhooks/deliveries");
  const chosen = page.getByRole("checkbox", { name: "Select completed of" });
  const checked = chosen.and(page.locator(":checked"));
  await chosen.check();
  // The next delivery appears without a reload, and the chosen one stays chosen.
  await client.call(prediction, "POST", "/predictions", { body });
  await chosen.nth(1).waitFor();
  expect(await checked.count()).toBe(1);
  // One box chooses all deliveries on a page, and follows the others.
  const some = page.locator("[data-choose-all] :indeterminate");
  await some.waitFor();
  const all = page.getByRole("checkbox", { name: "Select all" });
  await all.check();
  expect(await checked.count()).toBe(2);
  await chosen.first().uncheck();
  await some.waitFor();
  await visitor.look();
  // The box works on a phone, too, where the table has no head.
  const size = page.viewportSize() ?? expect.fail("a window");
  await page.setViewportSize({ width: 390, height: 800 });
  await all.press("Space");
  expect(await checked.count()).toBe(2);
  await visitor.look();
  await page.setViewportSize(size);
  await receiver.close();
});

it("a page compares embeddings, whose values are a tree that unfolds", async () => {
  const id = await create("embeddings", { input: ["cat", "kitten"] });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await badge(visitor, "succeeded");
  const unfold = async () => {
    await page.getByText(/^2 embeddings, \d+ dimensions$/).waitFor();
    await page.locator(".embeddings").getByRole("rowheader", { name: "1 kitten" }).waitFor();
    const distance = page.locator(".distances tbody tr").first().locator("td").last();
    const far = Number(await distance.textContent());
    expect(far).toBeGreaterThan(0);
    expect(far).toBeLessThan(2);
    await page.getByText("All values").click();
    await page.getByText("data: 2 items").click();
    await page.getByText("0: 3 fields").click();
    await page.getByText(/^embedding: \d+ items$/).click();
    await page.getByText(/^\d+ more$/).click();
    await page.locator(".key", { hasText: /^100: $/ }).waitFor();
  };
  await unfold();
  // The tree that the server has rendered unfolds, too.
  await visitor.open(`/predictions/${id}`);
  await unfold();
  await visitor.look();
});

it("a page shows Markdown as text or formatted, as the reader has chosen, also while it comes", async () => {
  const before = ["# Alice\n\nShe was **very** [late](https://a.example/)."];
  const id = await create("gated", { before, gate: "prose", after: ["- <b>end</b>"] });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  const texts = page.locator("[data-output] .text");
  const markdown = page.getByRole("button", { name: "Markdown" });
  await texts.getByText("late").waitFor();
  await markdown.click();
  const prose = page.locator("[data-output] .prose");
  expect(await prose.locator("strong").textContent()).toBe("very");
  expect(await texts.first().isVisible()).toBe(false);
  open("prose");
  await badge(visitor, "succeeded");
  // HTML that is no Markdown is shown as text.
  expect(await prose.locator("li").textContent()).toBe("<b>end</b>");
  await visitor.look();
  await page.reload();
  expect(await prose.locator("a").getAttribute("rel")).toBe("noopener noreferrer nofollow");
  await markdown.click();
  expect(await texts.allInnerTexts()).toEqual([...before, "- <b>end</b>"]);
  expect(await prose.first().isVisible()).toBe(false);
});

it("an output that is too large for a page shows its beginning, and leads to all of it", async () => {
  const id = await create("ample", { size: 300_000 });
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(`/predictions/${id}`);
  await badge(visitor, "succeeded");
  const link = page.getByRole("link", { name: "Read the full output as text" });
  await link.waitFor();
  // The live page and the one that the server renders show the same.
  expect(await outputIn(visitor)).toBe("x".repeat(BEGINNING));
  await visitor.open(`/predictions/${id}`);
  expect(await outputIn(visitor)).toBe("x".repeat(BEGINNING));
  const address = (await link.getAttribute("href")) ?? expect.fail("no address");
  expect(await (await page.request.get(address)).text()).toBe("x".repeat(300_000));
});
