/** The playground: inputs, files, runs, and the way back to them. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, afterEach, beforeAll, expect, it, vi } from "vitest";
import { z } from "zod";
import { ROOT } from "../../src/dev/bundle.ts";
import { prediction, predictionWithIO } from "../../src/protocol/prediction.ts";
import { upload } from "../../src/protocol/upload.ts";
import { OPERATOR, Site, signIn } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

const SAMPLE = join(ROOT, "test/models/duotone/sample.jpg");
const playground = (model: string) => `/models/${OPERATOR}/${model}`;
const formOf = (model: string) => `${playground(model)}?view=form`;

let site: Site;

beforeAll(async () => {
  site = await Site.shared();
  await site.world.runner("one");
});
afterEach(() => site.leave());
afterAll(() => site.close());

const runButton = ({ page }: Visitor) =>
  page.getByRole("button", { name: "Run", exact: false }).first();

/** Returns the ID of the run in the page's address. */
async function runOf({ page }: Visitor): Promise<string> {
  await page.waitForURL(/\?prediction=/);
  return new URL(page.url()).searchParams.get("prediction") ?? "";
}

it("a reader's own picture is sent, and the model's picture comes back", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(formOf("duotone"));
  await page.locator('input[type="file"]').setInputFiles(SAMPLE);
  await page.getByText("sample.jpg", { exact: true }).waitFor();
  await visitor.look();
  await runButton(visitor).click();
  const picture = page.locator("[data-output] img");
  await picture.waitFor();
  expect(
    await picture.evaluate((image: HTMLImageElement) =>
      image.decode().then(() => image.naturalWidth),
    ),
  ).toBe(960);
  const [downloading] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Download", exact: true }).click(),
  ]);
  expect(downloading.suggestedFilename()).toMatch(/\.png$/);
  await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
  await visitor.look();
  // Chromium reports its own style for pages of pictures as a fault, so the link is not followed.
  const opener = page.locator("[data-output] a[target=_blank]:has(img)");
  expect(await opener.getAttribute("href")).toBe(await picture.getAttribute("src"));
  // The address of the upload is in the field, for the next run and for the code.
  const address = await page.getByLabel("image", { exact: true }).inputValue();
  expect(address).toMatch(/\/v1\/uploads\/[\w-]+$/);
  await page.getByRole("link", { name: "Code", exact: true }).click();
  await page.getByText(`"image": "${address}"`).first().waitFor();
  await visitor.open(`${playground("duotone")}?prediction=${await runOf(visitor)}`);
  expect(await page.getByLabel("image", { exact: true }).inputValue()).toBe(address);
});

it("a visitor's input is there again once they have logged in to run it", async () => {
  await site.clientOf("paula");
  const visitor = await site.visitor();
  const { page } = visitor;
  await visitor.open(playground("hello"));
  await page.getByLabel(/^name/).fill("Rabbit");
  await page.getByRole("button", { name: "Log in to run" }).click();
  await visitor.arrives(/^\/sign-in/);
  await signIn(visitor, "paula");
  await visitor.arrives(/^\/models\//);
  expect(await page.getByLabel(/^name/).inputValue()).toBe("Rabbit");
  await runButton(visitor).click();
  await page.locator("[data-output]").getByText("Rabbit").waitFor();
});

it("Back leads to the run before, with its input, and a run to its own page", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(formOf("text-generation"));
  const prompt = page.getByLabel(/^prompt/);
  const run = async (beginning: string, before?: string) => {
    await prompt.fill(beginning);
    await runButton(visitor).click();
    await page.waitForURL((url) => ![null, before].includes(url.searchParams.get("prediction")));
    await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
    return runOf(visitor);
  };
  const first = await run("Alice was");
  await run("The Queen", first);
  await page.goBack();
  await page.waitForURL(new RegExp(`prediction=${first}`));
  await vi.waitFor(async () => expect(await prompt.inputValue()).toBe("Alice was"));
  await page.getByRole("link", { name: "View prediction" }).click();
  await visitor.arrives(`/predictions/${first}`);
  expect(await page.getByRole("link", { name: "View prediction" }).isVisible()).toBe(false);
});

it("a large file goes in parts, shows its progress, and can be stopped", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(formOf("duotone"));
  // Noise is hardly compressed: the file has about 12 MB, three parts.
  const raw = { width: 2_000, height: 2_000, channels: 3 } as const;
  const buffer = await sharp(randomBytes(12_000_000), { raw })
    .png({ compressionLevel: 0 })
    .toBuffer();
  const file = { name: "noise.png", mimeType: "image/png", buffer };
  await page.locator('input[type="file"]').setInputFiles(file);
  const protocol = await visitor.protocol();
  await protocol.send("Network.enable");
  const limit = (uploadThroughput: number) =>
    protocol.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
  await limit(1_000_000);
  await runButton(visitor).click();
  const bar = page.getByRole("progressbar", { name: "Uploading noise.png" });
  await vi.waitFor(
    async () => {
      const [value, max] = await bar.evaluate((one: HTMLProgressElement) => [one.value, one.max]);
      expect(value).toBeGreaterThan(0);
      expect(value).toBeLessThan(max ?? 0);
    },
    { timeout: 10_000, interval: 100 },
  );
  await visitor.look();
  await page.getByRole("button", { name: "Cancel upload of noise.png" }).click();
  await page.getByText("Upload of noise.png canceled. The model was not run.").waitFor();
  expect(page.url()).not.toContain("prediction=");
  await limit(-1);
  // One part's address has expired meanwhile, and one part is refused because the service is busy.
  for (const [part, status] of [
    [1, 403],
    [2, 503],
  ] as const) {
    const address = new RegExp(`/parts/${part}$`);
    await page.route(
      ({ pathname }) => address.test(pathname),
      (route) => route.fulfill({ status }),
      { times: 1 },
    );
    visitor.expects(status, address);
  }
  await runButton(visitor).click();
  await page.locator("[data-output] img").waitFor();
  const client = await site.clientOf("paula");
  const { input } = await client.call(
    predictionWithIO,
    "GET",
    `/predictions/${await runOf(visitor)}`,
  );
  const { image } = z.object({ image: z.url() }).parse(input);
  const sent = await client.call(upload, "GET", new URL(image).pathname.replace("/v1", ""));
  expect([sent.size, sent.part_size]).toEqual([buffer.length, 5 * 1024 * 1024]);
});

it("a page that sends files starts nothing else, and keeps the displayed input that it sends", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(formOf("duotone"));
  const width = page.getByLabel(/^width/);
  await page.getByText("More options").click();
  await width.fill("64");
  await page.locator('input[type="file"]').setInputFiles(SAMPLE);
  let begun = 0;
  page.on("request", (request) => {
    if (request.method() === "POST" && new URL(request.url()).pathname === "/uploads") begun++;
  });
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  await page.route(/\/parts\/\d+\?/, async (route) => {
    await gate;
    await route.continue();
  });
  const asJson = page.getByRole("link", { name: "Edit as JSON" });
  await asJson.click();
  await page.getByRole("button", { name: "Cancel upload of sample.jpg" }).waitFor();
  await asJson.click();
  const image = page.getByLabel("image", { exact: true });
  for (const held of [image, width, page.getByLabel("Version"), runButton(visitor)])
    expect(await held.isDisabled()).toBe(true);
  expect(await page.getByRole("button", { name: "Choose a file" }).isDisabled()).toBe(true);
  await page.locator('input[type="file"]').evaluate((picker) => {
    const files = new DataTransfer();
    files.items.add(new File(["x"], "other.png"));
    picker
      .closest(".field")
      ?.dispatchEvent(
        new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }),
      );
  });
  expect(await page.getByText("other.png").count()).toBe(0);
  await visitor.look();
  open();
  const raw = page.getByLabel("Input as JSON");
  await raw.waitFor();
  const { image: address } = z.object({ image: z.url() }).parse(JSON.parse(await raw.inputValue()));
  await page.getByRole("link", { name: "Edit as form" }).click();
  expect(await width.isEnabled()).toBe(true);
  expect(begun).toBe(1);
  // The path of the upload without its host is accepted, too.
  await image.fill(new URL(address).pathname);
  await runButton(visitor).click();
  await page.locator("[data-output] img").waitFor();
  await vi.waitFor(async () =>
    expect(await runButton(visitor).evaluate((one) => one === document.activeElement)).toBe(true),
  );
  const client = await site.clientOf("paula");
  const { input } = await client.call(
    predictionWithIO,
    "GET",
    `/predictions/${await runOf(visitor)}`,
  );
  expect(input).toMatchObject({ image: new URL(address).pathname, width: 64 });
});

it("another version keeps the input that was typed", async () => {
  const client = await site.clientOf("paula");
  await client.call(z.unknown(), "POST", "/models", {
    body: { name: "twice", visibility: "public" },
  });
  const publish = (properties: object) =>
    client.call(z.unknown(), "POST", "/models/paula/twice/versions", {
      body: {
        release_notes: "",
        container_image_digest: `sha256:${"0".repeat(64)}`,
        schemas: { prediction: { input: { type: "object", properties }, output: {} } },
      },
    });
  await publish({ word: { type: "string" }, steps: { type: "integer", default: 20 } });
  await publish({ steps: { type: "integer", default: 30 }, word: { type: "string" } });
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open("/models/paula/twice");
  await page.getByText("More options").click();
  await page.getByLabel("word").fill("cat");
  await page.getByLabel("Version").selectOption("1");
  await page.getByText("More options").click();
  await page.getByLabel("steps").and(page.locator('[value="20"]')).waitFor();
  expect(await page.getByLabel("word").inputValue()).toBe("cat");
  await visitor.look();
});

it("text grows as it is written, and goes on where it was after a reload", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(playground("text-generation"));
  await page.getByLabel("prompt").fill("The Queen");
  await page.getByText("More options").click();
  await page.getByLabel(/^max_tokens/).fill("60");
  await page.getByLabel(/^delay_ms/).fill("100");
  await page.keyboard.press("Control+Enter");
  const output = page.locator("[data-output]");
  const text = () => output.innerText();
  const lengthOver = (least: number) =>
    vi.waitFor(async () => expect((await text()).length).toBeGreaterThan(least), {
      timeout: 20_000,
      interval: 50,
    });
  await lengthOver(0);
  const first = await text();
  await lengthOver(first.length);
  const begins = async () => {
    const whole = await text();
    expect(whole.slice(0, first.trimEnd().length)).toBe(first.trimEnd());
    return whole;
  };
  await begins();
  const id = await runOf(visitor);
  await page.reload();
  expect(await page.getByLabel("prompt").inputValue()).toBe("The Queen");
  const again = await vi.waitFor(begins, 20_000);
  await lengthOver(again.length);
  await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
  const client = await site.clientOf("paula");
  const { output: whole } = await client.call(predictionWithIO, "GET", `/predictions/${id}`);
  expect((await output.textContent())?.trim()).toBe([whole].flat().join("").trim());
  await visitor.look();
});

it("an input is checked as it is typed, and its error is below its field and announced", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(formOf("duotone"));
  const width = page.getByLabel(/^width/);
  await page.getByText("More options").click();
  await width.fill("5000");
  await page.getByText("Input should be less than or equal to 4096").first().waitFor();
  expect(await width.getAttribute("aria-invalid")).toBe("true");
  const described = (await width.getAttribute("aria-describedby"))?.split(" ").at(-1);
  expect(await page.locator(`[id="${described}"]`).textContent()).toMatch(/4096/);
  await page.getByRole("status").filter({ hasText: "4096" }).waitFor({ state: "attached" });
  // Fields that the reader has not reached yet have no errors.
  expect(await page.getByText("Field required").count()).toBe(0);
  await visitor.look();
  await runButton(visitor).click();
  const image = page.getByLabel("image", { exact: true });
  expect(await image.evaluate((one) => one === document.activeElement)).toBe(true);
  expect(await page.getByText("Field required").count()).toBe(1);
  await image.fill("no address");
  await page.getByText("valid URL").first().waitFor();
  await image.fill("https://example.com/a.png");
  const slider = page.getByLabel("Slider for width");
  expect(await slider.getAttribute("data-unset")).toBeNull();
  await width.fill("");
  expect(await slider.getAttribute("data-unset")).toBe("");
  await slider.fill("1000");
  expect(await width.inputValue()).toBe("1000");
  expect(await slider.getAttribute("data-unset")).toBeNull();
  // Only the service checks patterns.
  visitor.expects(422, playground("duotone"));
  await page.getByLabel("dark").fill("#12345");
  await runButton(visitor).click();
  await page.getByText("String should match pattern").first().waitFor();
  await page.getByLabel("dark").fill("#123456");
  await vi.waitFor(async () => expect(await page.locator('[aria-invalid="true"]').count()).toBe(0));
  expect(page.url()).not.toContain("prediction=");
});

it("fields turn into JSON and back with their values", async () => {
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(playground("sums"));
  await page.getByLabel("numbers", { exact: true }).fill("[1, 2,\n x]");
  await page.getByText("Not valid JSON: Unexpected token 'x'").first().waitFor();
  await page.getByLabel("numbers", { exact: true }).fill("[1, 2]");
  await page.getByText("More options").click();
  await page.getByLabel("operation").selectOption({ label: "mean" });
  await page.getByRole("link", { name: "Edit as JSON" }).click();
  const raw = page.getByLabel("Input as JSON");
  expect(JSON.parse(await raw.inputValue())).toMatchObject({ numbers: [1, 2], operation: "mean" });
  await visitor.look();
  await raw.fill('{"numbers": [4], "operation": "median", "other": 1}');
  await page.getByRole("link", { name: "Edit as form" }).click();
  await page.getByText("This JSON has values that the form has no field for.").waitFor();
  await raw.fill('{"numbers": [4], "operation": "median"}');
  await page.getByRole("link", { name: "Edit as form" }).click();
  expect(await page.getByLabel("operation").inputValue()).toBe('"median"');
  await runButton(visitor).click();
  await page.locator(".prediction-head").getByText("succeeded", { exact: true }).waitFor();
  expect(await page.locator("[data-output]").innerText()).toContain("median");
});

it("recent runs are reached one by one with Tab, and keep the focus while the list is replaced", async () => {
  const client = await site.clientOf("paula");
  const create = async (name: string) => {
    const body = { model: `${OPERATOR}/hello`, input: { name } };
    return (await client.call(prediction, "POST", "/predictions", { body })).id;
  };
  const ids: string[] = [];
  for (let n = 0; n < 9; n++) ids.unshift(await create(`guest ${n}`));
  const visitor = await site.visitor({ as: "paula" });
  const { page } = visitor;
  await visitor.open(playground("hello"));
  const list = page.getByRole("navigation", { name: "Your recent runs" });
  const links = list.locator("li a");
  await page.locator(`[data-recent]:not([data-live]) a[href$="${ids[8]}"]`).waitFor();
  /** Returns the run that has the focus, and its position in the row. */
  const focused = () =>
    page.evaluate(() => {
      const link = document.activeElement;
      const row = link?.closest("[data-recent] ol");
      if (!(link instanceof HTMLAnchorElement) || !row) return { id: null, left: 0 };
      const id = new URL(link.href).searchParams.get("prediction");
      return { id, left: Math.round(link.offsetLeft - row.scrollLeft) };
    });
  await page.locator("[data-recent] li:nth-child(1) a").focus();
  expect((await focused()).id).toBe(ids[0]);
  for (let n = 1; n < 9; n++) {
    await page.keyboard.press("Tab");
    expect((await focused()).id).toBe(ids[n]);
    if (n !== 5) continue;
    await page.locator("[data-recent] ol").evaluate((row) => row.scrollTo({ left: 300 }));
    const before = await focused();
    // Another program runs the model meanwhile: the new list has one more run before this one.
    const more = await create("one more");
    await page.evaluate(() => document.dispatchEvent(new Event("prediction-ended")));
    await links.locator(`xpath=self::*[contains(@href, "${more}")]`).waitFor();
    expect(await focused()).toEqual(before);
  }
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe("View all");
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await visitor.arrives(new RegExp(`prediction=${ids[8]}`));
});
