/** The playground as a chat: answers that are stopped, look like HTML, or come without scripts. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { answers, messageBox, playground, say } from "./support/chat.ts";
import { Site } from "./support/site.ts";

const WHO = "edsger";

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("an answer is stopped, goes on after a reload, and can be asked again with another message", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  // `null` makes the reciter wait until it is canceled.
  await messageBox(visitor).fill('["One", null]');
  await page.keyboard.press("Enter");
  await page.getByText("One", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("One", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await messageBox(visitor).focus();
  await page.keyboard.press("Escape");
  await page.getByText("stopped", { exact: false }).first().waitFor();
  expect(await answers(visitor).locator(".prose:visible").innerText()).toBe("One");
  await page.getByRole("button", { name: "Edit" }).click();
  expect(await messageBox(visitor).inputValue()).toBe('["One", null]');
  expect(await answers(visitor).count()).toBe(0);
  // `false` makes the reciter fail.
  await say(visitor, '["Two ", false]');
  const failed = answers(visitor).locator(".problem:visible");
  expect(await failed.innerText()).toContain("the reciter has forgotten its lines");
  await page.getByRole("button", { name: "Regenerate" }).click();
  await answers(visitor).and(page.locator('[aria-busy="false"]')).waitFor();
  expect(await failed.innerText()).toContain("the reciter has forgotten its lines");
  expect(await answers(visitor).count()).toBe(1);
  await visitor.look();
});

it("a model's answer is shown as text, also when it looks like HTML", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  const hostile = [
    '<img src=x onerror="document.title=1"><script>document.title=2</script>',
    "\n\n[a](javascript:document.title=3) [b](https://example.com/b)",
    "\n\n```html\n<b>bold</b>\n```\n\n- **strong** <i>i</i>",
    '\n\n| <u>a</u> | b |\n| - | - |\n| <iframe src="//example.com"></iframe> | d |',
  ];
  await say(visitor, JSON.stringify(hostile));
  const answer = answers(visitor).last();
  const text = await answer.locator(".prose:visible").innerText();
  for (const part of ["<img src=x", "<script>", "(javascript:", "<b>bold</b>", "<i>i</i>", "<u>"])
    expect(text).toContain(part);
  expect(await answer.locator("img, script, iframe, b, i, u").count()).toBe(0);
  expect(await answer.locator(".prose a").evaluateAll((all) => all.map(String))).toEqual([
    "https://example.com/b",
  ]);
  expect(await answer.locator("strong").innerText()).toBe("strong");
  expect(await page.title()).toContain("reciter");
  await answer.getByRole("button", { name: "Copy", exact: true }).first().click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("<b>bold</b>");
  await visitor.look();
});

it("without scripts a chat is a form", async () => {
  const visitor = await site.visitor({ as: WHO });
  const protocol = visitor.protocol();
  await protocol.send("Emulation.setScriptExecutionDisabled", { value: true });
  await visitor.page.goto(playground("chat"));
  await visitor.page.getByRole("textbox", { name: "messages" }).fill("Who is the Hatter?");
  await visitor.page.getByRole("button", { name: /^Run/ }).click();
  await visitor.page.waitForURL(/\?prediction=/);
  await visitor.page.getByRole("heading", { name: "Output" }).waitFor();
  expect(await visitor.page.getByRole("textbox", { name: "messages" }).inputValue()).toContain(
    "Hatter",
  );
});
