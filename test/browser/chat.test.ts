/** The playground as a chat. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { Client } from "../../src/dev/client.ts";
import { answers, lastInput, messageBox, playground, say } from "./support/chat.ts";
import { Site } from "./support/site.ts";

const WHO = "grace";

let site: Site;
let client: Client;

beforeAll(async () => {
  site = await Site.shared();
  [client] = await Promise.all([site.clientOf(WHO), site.world.runner("one")]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("two turns with a system prompt are written as they come, and are there after a reload", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("chat"));
  await page.getByLabel("System prompt").fill("Answer in one sentence.");
  await page.getByText("Sampling", { exact: true }).click();
  await page.getByLabel("Maximum tokens").fill("1000");
  await messageBox(visitor).fill("Who is\nthe Hatter?");
  await page.keyboard.press("Shift+Enter");
  expect(await messageBox(visitor).inputValue()).toBe("Who is\nthe Hatter?\n");
  await say(visitor, "Who is the Hatter?");
  await visitor.look();
  await say(visitor, "And the Queen?");
  const foot = await answers(visitor).last().locator(".turn-foot").innerText();
  expect(foot).toMatch(/\d+ input, \d+ output tokens · first token in [\d.]+ s · [\d.]+ s total/);
  const said = await answers(visitor).locator(".prose:visible").allInnerTexts();
  expect(await lastInput(client, visitor)).toMatchObject({
    messages: [
      { role: "system", content: "Answer in one sentence." },
      { role: "user", content: "Who is the Hatter?" },
      { role: "assistant" },
      { role: "user", content: "And the Queen?" },
    ],
    max_tokens: 1000,
  });
  expect(await messageBox(visitor).evaluate((one) => one === document.activeElement)).toBe(true);
  await page.getByRole("link", { name: "Recent runs", exact: true }).click();
  const recent = page.getByRole("navigation", { name: "Your recent runs" });
  await recent.getByRole("link", { name: /And the Queen\?/ }).waitFor();
  expect(await recent.locator("li a").count()).toBe(2);
  await visitor.look();
  // The code shows the call that comes next.
  await messageBox(visitor).fill("Why?");
  await page.getByRole("link", { name: "Code", exact: true }).click();
  await page.getByText('"content": "Why?"').first().waitFor();
  await page.getByRole("radio", { name: "curl" }).check();
  const shown = page.locator("[data-language]:visible code");
  expect((await shown.allInnerTexts()).map((code) => code.split(" ")[0])).toEqual(
    new Array(4).fill("curl"),
  );
  await visitor.look();
  await page.reload();
  await answers(visitor).nth(1).waitFor();
  expect(await answers(visitor).locator(".prose:visible").allInnerTexts()).toEqual(said);
  expect(await page.getByLabel("System prompt").inputValue()).toBe("Answer in one sentence.");
  await visitor.narrow();
  await page.getByRole("link", { name: "Settings", exact: true }).last().click();
  expect(await messageBox(visitor).isVisible()).toBe(false);
  await page.getByRole("link", { name: "Conversation" }).click();
  await visitor.look();
  await page.getByRole("button", { name: "New chat" }).click();
  await page.reload();
  await page.getByText("Chat with chat.").waitFor();
  expect(await answers(visitor).count()).toBe(0);
});
