/** Back and Forward in the playground's views other than the form: each step is as it was left. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const WHO = "heidi";
const SAMPLE = join(ROOT, "test/models/duotone/sample.jpg");
const playground = (model: string) => `/models/${OPERATOR}/${model}`;

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
});
afterEach(() => site.leave());
afterAll(() => site.close());

const recentRuns = ({ page }: Visitor) =>
  page.getByRole("navigation", { name: "Your recent runs", includeHidden: true });

/** Waits until the list has this run as the current one. */
const isCurrent = (visitor: Visitor, id: string) =>
  recentRuns(visitor)
    .locator(`a[href$="prediction=${id}"][aria-current="page"]`)
    .waitFor({ state: "attached" });

const runInAddress = ({ page }: Visitor) => new URL(page.url()).searchParams.get("prediction");

it("each run of pictures is a step, with its input, and its address shows it again", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("duotone"));
  await page.locator('input[type="file"]').setInputFiles(SAMPLE);
  const width = page.getByLabel(/^width/);
  await page.getByText("More options").click();
  const firstCard = page.locator(".media-run").first();
  const run = async (pixels: string): Promise<string> => {
    const before = runInAddress(visitor);
    await width.fill(pixels);
    await page.getByRole("button", { name: /^Run/ }).click();
    await page.waitForURL(
      ({ searchParams }) => ![before, null].includes(searchParams.get("prediction")),
    );
    await firstCard.and(page.locator('[aria-busy="false"]')).locator(".media-item img").waitFor();
    return runInAddress(visitor) ?? "";
  };
  /** Waits until everything on the page is of this run. */
  const isShown = async (id: string, pixels: string) => {
    await page.waitForURL(new RegExp(`prediction=${id}$`));
    await firstCard.locator(`a[href="/predictions/${id}"]`).waitFor();
    await firstCard.locator(".media-item img").waitFor();
    await isCurrent(visitor, id);
    expect(await width.inputValue()).toBe(pixels);
    expect(await page.getByRole("button", { name: "Cancel" }).count()).toBe(0);
    expect(await page.locator(".media-run").count()).toBe(2);
  };
  const [first, second] = [await run("32"), await run("48")];
  await isShown(second, "48");
  await page.goBack();
  await isShown(first, "32");
  await visitor.look();
  await page.goForward();
  await isShown(second, "48");
  await page.reload();
  await isShown(second, "48");
  await page.goBack();
  await isShown(first, "32");
  await page.goBack();
  await page.waitForURL(new RegExp(`${playground("duotone")}$`));
  await recentRuns(visitor).locator("li").nth(1).waitFor();
  expect(await recentRuns(visitor).locator('[aria-current="page"]').count()).toBe(0);
});

const bubbles = ({ page }: Visitor) => page.locator(".turn.user .bubble");
const answers = ({ page }: Visitor) => page.locator(".turn.assistant");

/** Sends a message. @returns the ID of the run that answers */
async function say(visitor: Visitor, text: string): Promise<string> {
  const before = await answers(visitor).count();
  await visitor.page.getByRole("textbox", { name: "Message" }).fill(JSON.stringify([text]));
  await visitor.page.keyboard.press("Enter");
  return answerOf(visitor, before);
}

async function answerOf(visitor: Visitor, n: number): Promise<string> {
  const whole = answers(visitor).nth(n).and(visitor.page.locator('[aria-busy="false"]'));
  const path = await whole.getByRole("link", { name: "Prediction" }).getAttribute("href");
  return path?.split("/").at(-1) ?? "";
}

/** Waits until the conversation has just these texts, and everything on the page is of its last run. */
async function isSaid(visitor: Visitor, ...texts: string[]): Promise<void> {
  await bubbles(visitor)
    .nth(texts.length - 1)
    .waitFor();
  const said = texts.map((text) => JSON.stringify([text]));
  expect(await bubbles(visitor).allInnerTexts()).toEqual(said);
  await isCurrent(visitor, await answerOf(visitor, texts.length - 1));
  expect(await visitor.page.getByRole("button", { name: "Send" }).isVisible()).toBe(true);
  expect(await visitor.page.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);
}

it("each conversation is a step: a run that is opened, opened again, and a new chat", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  const run = await say(visitor, "one");
  await say(visitor, "two");
  expect(runInAddress(visitor)).toBeNull();
  await page.getByRole("link", { name: "Recent runs", exact: true }).click();
  const link = recentRuns(visitor).locator(`a[href$="prediction=${run}"]`);
  await link.click();
  await isSaid(visitor, "one");
  await say(visitor, "three");
  await isSaid(visitor, "one", "three");
  await page.getByRole("link", { name: "Recent runs", exact: true }).click();
  await link.click();
  await isSaid(visitor, "one");
  await say(visitor, "four");
  await page.goBack();
  await isSaid(visitor, "one", "three");
  expect(runInAddress(visitor)).toBe(run);
  await visitor.look();
  await page.reload();
  await isSaid(visitor, "one", "three");
  await page.goForward();
  await isSaid(visitor, "one", "four");
  await page.getByRole("button", { name: "New chat" }).click();
  expect(await bubbles(visitor).count()).toBe(0);
  expect(runInAddress(visitor)).toBeNull();
  expect(await recentRuns(visitor).locator('[aria-current="page"]').count()).toBe(0);
  await visitor.look();
  await say(visitor, "five");
  await page.reload();
  await isSaid(visitor, "five");
  for (const texts of [
    ["one", "four"],
    ["one", "three"],
    ["one", "two"],
  ]) {
    await page.goBack();
    await isSaid(visitor, ...texts);
  }
  expect(runInAddress(visitor)).toBeNull();
});

it("a conversation that is left during an answer is found as it ended", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  // `null` makes the reciter wait until it is canceled.
  await page.getByRole("textbox", { name: "Message" }).fill('["One", null]');
  await page.keyboard.press("Enter");
  await page.getByText("One", { exact: true }).waitFor();
  await page.getByRole("button", { name: "New chat" }).click();
  await say(visitor, "other");
  await page.goBack();
  await page.getByText("stopped", { exact: false }).first().waitFor();
  expect(await bubbles(visitor).allInnerTexts()).toEqual(['["One", null]']);
  expect(await page.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);
  await page.goForward();
  await isSaid(visitor, "other");
});
