/** The live page of a prediction: a run as it goes on, a reload in the middle, cancelling, the list. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { BEGINNING } from "../../src/domain/predictions/display-limits.ts";
import { pageOf } from "../../src/protocol/common.ts";
import { runnerState } from "../../src/protocol/fleet.ts";
import { prediction, predictionWithIO } from "../../src/protocol/prediction.ts";
import { webhookEvent } from "../../src/protocol/webhook.ts";
import type { Runner } from "../journey/support/runner.ts";
import { Receiver } from "../receiver/receiver.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

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

async function create(model: string, input: object): Promise<string> {
  const body = { model: `${OPERATOR}/${model}`, input };
  return (await client.call(prediction, "POST", "/predictions", { body })).id;
}

const get = (id: string) => client.call(predictionWithIO, "GET", `/predictions/${id}`);

const open = (gate: string) => runner.open("gated", gate);

const badge = ({ page }: Visitor, status: string) =>
  page.locator(".prediction-view .status").getByText(status, { exact: true }).waitFor();

const outputIn = ({ page }: Visitor) => page.locator("[data-output]").innerText();

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
  await page.setViewportSize({ width: 1280, height: 200 });
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
