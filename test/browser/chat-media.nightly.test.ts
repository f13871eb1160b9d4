/** The playground as a chat with pictures, tools and earlier runs, and its views of pictures and sounds. */
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { ROOT } from "../../src/dev/bundle.ts";
import type { Client } from "../../src/dev/client.ts";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { answers, lastInput, messageBox, playground, say } from "./support/chat.ts";
import { OPERATOR, Site } from "./support/site.ts";

const SAMPLE = join(ROOT, "test/models/duotone/sample.jpg");

const WHO = "ida";

let site: Site;
let client: Client;

beforeAll(async () => {
  site = await Site.shared();
  [client] = await Promise.all([site.clientOf(WHO), site.world.runner("one")]);
});
afterEach(() => site.leave());
afterAll(() => site.close());

it("a picture is attached, sent, and shown", async () => {
  const visitor = await site.visitor({ as: WHO });
  const { page } = visitor;
  await visitor.open(playground("reciter"));
  await page.locator("[data-attach-files]").setInputFiles(SAMPLE);
  await page.getByRole("button", { name: "Remove sample.jpg" }).waitFor();
  await visitor.look();
  await say(visitor, '["A hill."]');
  expect(await lastInput(client, visitor)).toMatchObject({
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
  const visitor = await site.visitor({ as: WHO });
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
  expect(await lastInput(client, visitor)).toMatchObject({
    messages: [{ role: "user" }, { role: "assistant" }, { role: "tool", content: "21 degrees" }],
  });
  await page.getByLabel("Functions the model can call").fill("[");
  await messageBox(visitor).fill("Well?");
  await page.keyboard.press("Enter");
  await page.getByText("This is not valid JSON.").waitFor();
});

it("pictures are collected, and one is the next input", async () => {
  const visitor = await site.visitor({ as: WHO });
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
  const visitor = await site.visitor({ as: WHO });
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
  const visitor = await site.visitor({ as: WHO });
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
  expect(await lastInput(client, visitor)).toMatchObject({
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
