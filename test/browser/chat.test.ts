/** The playground as a chat, and its views of pictures and sounds. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const SAMPLE = join(ROOT, "test/models/duotone/sample.jpg");
const playground = (model: string) => `/models/${OPERATOR}/${model}`;

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
});
afterEach(() => site.leave());
afterAll(() => site.close());

const messageBox = ({ page }: Visitor) => page.getByRole("textbox", { name: "Message" });
const answers = ({ page }: Visitor) => page.locator(".turn.assistant");

/** Sends a message; resolves when its answer is whole. */
async function say(visitor: Visitor, text: string): Promise<void> {
  const before = await answers(visitor).count();
  await messageBox(visitor).fill(text);
  await visitor.page.keyboard.press("Enter");
  await answers(visitor).nth(before).and(visitor.page.locator('[aria-busy="false"]')).waitFor();
}

/** Returns the input of the prediction that wrote the last answer. */
async function lastInput(visitor: Visitor): Promise<unknown> {
  const link = answers(visitor).last().getByRole("link", { name: "Prediction" });
  const path = await link.getAttribute("href");
  const client = await site.clientOf("grace");
  return (await client.call(predictionWithIO, "GET", path ?? "")).input;
}

it("two turns with a system prompt are written as they come, and are there after a reload", async () => {
  const visitor = await site.visitor({ as: "grace" });
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
  expect(await lastInput(visitor)).toMatchObject({
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

it("an answer is stopped, goes on after a reload, and can be asked again with another message", async () => {
  const visitor = await site.visitor({ as: "grace" });
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
  const visitor = await site.visitor({ as: "grace" });
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

it("a picture is attached, sent, and shown", async () => {
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  await page.locator("[data-attach-files]").setInputFiles(SAMPLE);
  await page.getByRole("button", { name: "Remove sample.jpg" }).waitFor();
  await visitor.look();
  await say(visitor, '["A hill."]');
  expect(await lastInput(visitor)).toMatchObject({
    messages: [
      {
        content: [
          { type: "image_url", image_url: { url: expect.stringMatching(/\/v1\/uploads\//) } },
          { type: "text", text: '["A hill."]' },
        ],
      },
    ],
  });
  await page.reload();
  await page.getByAltText("sample.jpg").waitFor();
});

it("a tool that is called is shown, and goes on with the result that is given", async () => {
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  await visitor.open(playground("chat"));
  await page.getByText("Tools", { exact: true }).click();
  await page.getByRole("button", { name: "Insert an example" }).click();
  await say(visitor, "What is the weather in San Francisco?");
  const result = page.getByLabel("Tool result");
  expect(await result.evaluate((one) => one === document.activeElement)).toBe(true);
  expect(await page.getByText('{\n  "city": "San Francisco"\n}').count()).toBe(1);
  await visitor.look();
  await messageBox(visitor).fill("Well?");
  await page.keyboard.press("Enter");
  await page.getByText("The model is waiting for a tool result.").waitFor();
  await result.fill("21 degrees");
  await page.keyboard.press("Enter");
  await answers(visitor).nth(1).and(page.locator('[aria-busy="false"]')).waitFor();
  expect(await lastInput(visitor)).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant" }, { role: "tool", content: "21 degrees" }],
  });
  await page.getByLabel("Functions the model can call").fill("[");
  await messageBox(visitor).fill("Well?");
  await page.keyboard.press("Enter");
  await page.getByText("This is not valid JSON.").waitFor();
});

it("pictures are collected, and one is the next input", async () => {
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  await visitor.open(playground("duotone"));
  await page.locator('input[type="file"]').setInputFiles(SAMPLE);
  const run = page.getByRole("button", { name: /^Run/ });
  await run.click();
  const pictures = page.locator(".media-item img");
  await pictures.waitFor();
  await visitor.look();
  const address = await pictures.getAttribute("src");
  await page.getByRole("button", { name: "Use as input" }).click();
  const image = page.getByLabel("image", { exact: true });
  expect(await image.inputValue()).toBe(new URL(address ?? "", site.url).href);
  await run.click();
  await pictures.nth(1).waitFor();
  await page.reload();
  await pictures.nth(1).waitFor();
  const recent = page.getByRole("navigation", { name: "Your recent runs" });
  await recent.locator("li").nth(1).waitFor();
  await recent.locator("li a").nth(1).click();
  await visitor.arrives(/prediction=/);
  await pictures.nth(1).waitFor();
  await recent.locator('li:nth-child(2) a[aria-current="page"]').waitFor();
  expect(await page.locator(".media-run").count()).toBe(2);
  await visitor.look();
  await run.click();
  await recent.locator('li:nth-child(3) a:not([aria-current="page"])').waitFor();
  await recent.locator('li:nth-child(1) a[aria-current="page"]').waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "Form", exact: true }).click();
  await visitor.arrives(/view=form/);
});

it("a text is said aloud, and the sound is written down again with its times", async () => {
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  await visitor.open(playground("text-to-speech"));
  await page.getByLabel("text", { exact: true }).fill("Down the hole. And up.");
  await page.keyboard.press("Control+Enter");
  const player = page.locator(".media-item audio");
  await player.waitFor();
  const duration = await player.evaluate(async (audio: HTMLAudioElement) => {
    if (audio.readyState === 0)
      await new Promise((resolve) => audio.addEventListener("loadedmetadata", resolve));
    return audio.duration;
  });
  expect(duration).toBeGreaterThan(1);
  await visitor.look();
  const address = await player.getAttribute("src");
  await visitor.open(playground("speech-to-text"));
  await page.getByLabel("audio", { exact: true }).fill(new URL(address ?? "", site.url).href);
  await page.keyboard.press("Control+Enter");
  const segments = page.locator(".media-segments li");
  await segments.nth(1).waitFor();
  expect(await segments.allInnerTexts()).toEqual([
    expect.stringMatching(/^0:00\.0\s+down the hole\.\s+[\d.]+ s$/),
    expect.stringMatching(/^0:0\d\.\d\s+and up\.\s+[\d.]+ s$/),
  ]);
  await visitor.look();
});

it("a run opens as its conversation and goes on from there, and Back leads to the run before", async () => {
  const client = await site.clientOf("grace");
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Who is the Hatter?" },
  ];
  const [first, second] = [await run("Alice?"), await run("And the Queen?")];
  async function run(more: string): Promise<string> {
    const said = [
      ...messages,
      { role: "assistant", content: "Mad." },
      { role: "user", content: more },
    ];
    const body = { model: `${OPERATOR}/chat`, input: { messages: said, max_tokens: 40 } };
    return (await client.call(predictionWithIO, "POST", "/predictions", { body })).id;
  }
  const visitor = await site.visitor({ as: "grace" });
  const { page } = visitor;
  const bubbles = page.locator(".turn.user .bubble");
  await visitor.open(`/predictions/${first}`);
  await page.getByRole("link", { name: /Open in playground|Run again with changes/ }).click();
  await answers(visitor).nth(1).and(page.locator('[aria-busy="false"]')).waitFor();
  expect(await bubbles.allInnerTexts()).toEqual(["Who is the Hatter?", "Alice?"]);
  expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");
  expect(await page.getByLabel("Maximum tokens").inputValue()).toBe("40");
  await visitor.look();
  await say(visitor, "Why?");
  expect(await lastInput(visitor)).toMatchObject({
    messages: [...messages, { content: "Mad." }, { content: "Alice?" }, {}, { content: "Why?" }],
    max_tokens: 40,
  });
  await page.reload();
  await bubbles.nth(2).waitFor();
  await page.getByRole("link", { name: "Recent runs", exact: true }).click();
  await page.locator(`[data-recent] a[href$="prediction=${second}"]`).click();
  await visitor.arrives(new RegExp(second));
  await bubbles.getByText("And the Queen?").waitFor();
  expect(await bubbles.count()).toBe(2);
  await page.goBack();
  await bubbles.getByText("Why?").waitFor();
  expect(page.url()).toContain(first);
  // The run opens again as it was.
  await visitor.open(`${playground("chat")}?prediction=${first}`);
  await bubbles.getByText("Alice?").waitFor();
  expect(await bubbles.count()).toBe(2);
  await page.goBack();
  await bubbles.getByText("Why?").waitFor();
});

it("without scripts a chat is a form", async () => {
  const visitor = await site.visitor({ as: "grace" });
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
