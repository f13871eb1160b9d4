/** A model's life through its pages: made, published, called, changed, found, deleted. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { SAMPLE } from "../journey/support/duotone.ts";
import { OPERATOR, Site } from "./support/site.ts";

let site: Site;

/** Another host, with a picture that an overview shows. */
const host = createServer((_request, response) => response.end(readFileSync(SAMPLE)));

beforeAll(async () => {
  site = await Site.shared();
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
});
afterEach(() => site.leave());
afterAll(async () => {
  host.close();
  await site.close();
});

const DIGEST = `sha256:${"c0ffee00".repeat(8)}`;

const INPUT = {
  type: "object",
  required: ["prompt"],
  properties: { prompt: { type: "string", maxLength: 300, description: "Text to continue" } },
};

it("a model is made with a page of its own, and its first version is published", async () => {
  const visitor = await site.visitor({ as: "lewis" });
  const { page } = visitor;
  await visitor.open("/models/lewis");
  await page.getByRole("link", { name: "create an empty model first" }).click();
  await visitor.arrives("/models/new");
  await page.getByLabel("Name", { exact: true }).fill("rabbit");
  await page.getByLabel("Public").check();
  await page.getByLabel("Description").fill("Is always late");
  const { port } = host.address() as AddressInfo;
  await page
    .getByLabel("Overview")
    .fill(`# How late\n\n![A watch](http://127.0.0.1:${port}/w)\n\n<b onclick=x>very</b>`);
  await page.getByRole("button", { name: "Create model" }).click();
  await visitor.arrives("/models/lewis/rabbit");
  await page.getByRole("link", { name: "Overview" }).click();
  await visitor.arrives("/models/lewis/rabbit/overview");
  expect(await page.getByRole("heading", { name: "How late" }).count()).toBe(1);
  const picture = page.getByRole("img", { name: "A watch" });
  await expect
    .poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0);
  expect(await page.getByText("<b onclick=x>very</b>").count()).toBe(1);

  await page.getByRole("link", { name: "Playground" }).click();
  await page.getByRole("link", { name: "Create a version" }).click();
  await visitor.arrives("/models/lewis/rabbit/versions/new");
  expect(await page.getByRole("textbox", { name: "Digest" }).isVisible()).toBe(false);
  await page.getByRole("radio", { name: "Digest" }).check();
  await page.getByRole("textbox", { name: "Digest" }).fill(DIGEST);
  await page.getByLabel("Enter here").check();
  await page.getByLabel("Input", { exact: true }).fill('{"type": "object",}');
  visitor.expects(422, "/models/lewis/rabbit/versions/new");
  await page.getByRole("button", { name: "Publish version" }).click();
  await page.getByText("(line 1 column 19)").waitFor();
  await visitor.look();
  expect(await page.getByRole("textbox", { name: "Digest" }).inputValue()).toBe(DIGEST);
  await page.getByLabel("Input", { exact: true }).fill(JSON.stringify(INPUT));
  await page.getByLabel("OpenAI chat completions").check();
  await page.getByRole("button", { name: "Publish version" }).click();
  await visitor.arrives("/models/lewis/rabbit/versions/1");
  await page.getByText("Text to continue — at most 300 characters").waitFor();
  await page
    .locator(".details > div", { hasText: "Digest" })
    .getByRole("button", { name: "Copy" })
    .click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(DIGEST);
});

it("a model is found by everybody, with sample calls in the language that the reader chooses", async () => {
  const visitor = await site.visitor({ phone: true });
  const { page } = visitor;
  await visitor.open("/models");
  await page.getByLabel("Search models").fill("always late");
  await page.keyboard.press("Enter");
  await visitor.arrives("/models?q=always+late");
  await page.getByRole("link", { name: "lewis/rabbit" }).click();
  await visitor.arrives("/models/lewis/rabbit");
  await page.getByRole("link", { name: "API", exact: true }).last().click();
  await visitor.arrives("/models/lewis/rabbit/api");
  const shown = page.locator("pre:visible");
  const python = await shown.allInnerTexts();
  expect(python[0]).toContain(`"${site.url}/openai/v1"`);
  expect(python.at(-1)).toContain(`"${site.url}/replicate/v1"`);
  await page.getByRole("radio", { name: "curl" }).check();
  const code = await shown.allInnerTexts();
  expect(code[0]).toContain(`${site.url}/openai/v1`);
  expect(code.at(-1)).toContain(`curl '${site.url}/v1/predictions'`);
  for (const path of ["", "/versions", "/versions/1", "/api"])
    await visitor.open(`/models/lewis/rabbit${path}`);
  // The page remembers the language.
  expect(await page.getByRole("radio", { name: "curl" }).isChecked()).toBe(true);
  await visitor.open("/models?q=nothing+like+that");
});

it("a model is renamed and made private, and others no longer find it", async () => {
  const visitor = await site.visitor({ as: "lewis" });
  const { page } = visitor;
  await visitor.open("/models/lewis/rabbit/settings");
  await page.getByLabel("Name", { exact: true }).fill("hare");
  await page.getByLabel("Private").check();
  await page.getByRole("button", { name: "Save" }).click();
  await visitor.arrives("/models/lewis/hare/settings");
  await page.getByText("Model saved.").waitFor();
  await visitor.open("/models/lewis");
  await page.getByText("private", { exact: true }).waitFor();
  await visitor.open("/models/lewis/rabbit", { status: 404 });
  const other = await site.visitor({ as: "grace" });
  await other.open("/models/lewis/hare", { status: 404 });
  await other.open("/models/lewis/hare/settings", { status: 404 });
});

it("a version is deleted after a question, and a model after its name is typed", async () => {
  const visitor = await site.visitor({ as: "lewis" });
  const { page } = visitor;
  await visitor.open("/models/lewis/hare/versions/1");
  await page.getByText("Delete version 1").first().click();
  const questions: string[] = [];
  page.once("dialog", (dialog) => {
    questions.push(dialog.message());
    return dialog.dismiss();
  });
  await page.getByRole("button", { name: "Delete version 1" }).click();
  expect(questions).toEqual(["Delete version 1 of hare?"]);
  await visitor.open("/models/lewis/hare/versions/1");
  await page.getByText("Delete version 1").first().click();
  page.once("dialog", (dialog) => dialog.accept());
  await page.getByRole("button", { name: "Delete version 1" }).click();
  await visitor.arrives("/models/lewis/hare/versions");
  await page.getByText("No version yet").waitFor();

  await visitor.open("/models/lewis/hare/settings");
  await page.getByLabel("Type hare to confirm").fill("rabbit");
  visitor.expects(422, "/models/lewis/hare/delete");
  await page.getByRole("button", { name: "Delete hare" }).click();
  await page.getByText("Type hare to confirm.").waitFor();
  await visitor.look();
  await page.getByLabel("Type hare to confirm").fill("hare");
  await page.getByRole("button", { name: "Delete hare" }).click();
  await visitor.arrives("/models/lewis");
  await page.getByText("You have no models yet").waitFor();
});

it("models are found while the reader types, and Back leaves the search", async () => {
  const visitor = await site.visitor();
  const { page } = visitor;
  await page.goto("/sign-in");
  await visitor.open("/models");
  const field = page.getByRole("searchbox", { name: "Search models" });
  await field.pressSequentially("stor");
  await page.waitForURL("**/models?q=stor");
  await page.getByText(/^\d+ models? found$/).waitFor();
  expect(await page.getByRole("link", { name: "ada/text-generation" }).count()).toBe(1);
  expect(await field.evaluate((one) => one === document.activeElement)).toBe(true);
  await field.pressSequentially("zzzz");
  await page.getByText("No models match “storzzzz”").waitFor();
  await field.fill("");
  await page.getByRole("combobox", { name: "Category" }).waitFor();
  expect(new URL(page.url()).search).toBe("");
  await page.goBack();
  await visitor.arrives("/sign-in");
});

it("a run is pinned as an example, and its inputs are used again", async () => {
  await site.world.runner("one");
  const visitor = await site.visitor({ as: OPERATOR });
  const { page } = visitor;
  await visitor.open(`/models/${OPERATOR}/text-generation?view=form`);
  await page.getByLabel(/^prompt/).fill("Alice was");
  await page.getByText("More options").click();
  await page.getByLabel(/^max_tokens/).fill("8");
  await page.getByLabel(/^delay_ms/).fill("0");
  await page.getByRole("button", { name: /^Run/ }).first().click();
  await page.waitForURL(/prediction=/);
  await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
  const id = new URL(page.url()).searchParams.get("prediction");
  await visitor.open(`/predictions/${id}`);
  await page.getByRole("button", { name: "Pin as an example" }).click();
  await visitor.arrives(`/models/${OPERATOR}/text-generation/examples`);
  // Test files that have shared the site may have pinned examples before: the new one is the last.
  await page.getByRole("link", { name: "Use these inputs" }).last().click();
  await page.waitForURL(/example=/);
  expect(await page.getByLabel(/^prompt/).inputValue()).toBe("Alice was");
  await page.getByText("Example by").waitFor();
  await visitor.look();
  // The reader's own run takes the place of the example, and the way back leads to the example.
  await page.getByRole("button", { name: /^Run/ }).first().click();
  await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
  expect(await page.getByText("Example by").count()).toBe(0);
  expect(await page.locator("[data-examples] [aria-current]").count()).toBe(0);
  await page.goBack();
  await page.getByText("Example by").waitFor();
});

it("the tabs of a model keep their places, whichever is chosen", async () => {
  const visitor = await site.visitor({ as: OPERATOR });
  const { page } = visitor;
  await visitor.open(`/models/${OPERATOR}/text-generation`);
  const tabs = page.getByRole("navigation", { name: "Pages of text-generation" });
  const place = await tabs.boundingBox();
  for (const name of ["Versions", "API", "Settings", "Overview", "Variables", "Examples"]) {
    await tabs.getByRole("link", { name, exact: true }).click();
    await visitor.arrives(new RegExp(`/${name.toLowerCase()}$`));
    expect([name, await tabs.boundingBox()]).toEqual([name, place]);
  }
});
