/** Faults that a visitor's check of a page must find. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { groupPath } from "../../src/dashboard/docs/contents.ts";
import { repetitionOn } from "./support/accessibility.ts";
import { Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

let site: Site;
let visitor: Visitor;

beforeAll(async () => {
  site = await Site.shared();
  visitor = await site.visitor();
});
afterAll(() => site.close());

/** Deeds that break a good page, each with the fault that the check reports. */
const DEEDS: [string, () => unknown, RegExp][] = [
  ["an error in the console", () => console.error("broken"), /console: broken/],
  ["an exception", () => setTimeout(() => Promise.reject(new Error("broken"))), /Error: broken/],
  ["an answer that is a problem", () => fetch("/nowhere"), /GET \/nowhere answered 404/],
  [
    "a picture of another host",
    () => {
      document.body.append(
        Object.assign(new Image(), { alt: "", src: "https://example.com/a.png" }),
      );
    },
    /Content Security Policy/,
  ],
  [
    "an inline style",
    () => {
      document.body.insertAdjacentHTML("beforeend", '<p style="color: red">red</p>');
    },
    /Content Security Policy/,
  ],
  [
    "text that is hard to read in the dark",
    () => {
      for (const p of document.querySelectorAll("p")) p.style.color = "#595959";
    },
    /in dark: color-contrast/,
  ],
  [
    "a button without a name",
    () => document.querySelector("main")?.append(document.createElement("button")),
    /button-name/,
  ],
  [
    "what stands over the edge",
    () => {
      const wide = document.createElement("pre");
      wide.style.width = "3000px";
      document.querySelector("main")?.append(wide);
    },
    /scrolls sideways/,
  ],
];

it.each(DEEDS)("a check of a page reports %s", async (_, deed, words) => {
  await visitor.open("/");
  await visitor.page.evaluate(deed);
  await expect(visitor.look()).rejects.toThrow(words);
});

it("a check of a page reports a heavy page", async () => {
  await visitor.page.route(`${site.url}/`, async (route) => {
    const response = await route.fetch();
    const more = `<!-- ${randomBytes(150_000).toString("base64")} -->`;
    await route.fulfill({ response, body: (await response.text()) + more });
  });
  await expect(visitor.open("/")).rejects.toThrow(/weighs \d+ bytes/);
  await visitor.page.unrouteAll();
});

it("a check of a page reports text that only client code adds", async () => {
  const reader = await site.visitor();
  await reader.page.addInitScript(() => {
    addEventListener("load", () => document.querySelector("main")?.append("More"));
  });
  await expect(reader.open("/", { withoutCode: true })).rejects.toThrow(
    "with client code and without",
  );
});

it("a check of a visitor reports an expected refusal that has not come", async () => {
  const late = await site.visitor();
  await late.page.goto("/");
  late.expects(404, "/nowhere");
  await expect(late.leave()).rejects.toThrow("no 404 of /nowhere");
});

it("axe sees one part of each kind on the reference, and each part that is like no other", async () => {
  const { page } = visitor;
  await page.goto(groupPath("Operator"));
  await page
    .locator("article")
    .last()
    .evaluate((article) => article.append(new Image()));
  const elements = () => page.locator("*").count();
  const all = await elements();
  const repetition = await repetitionOn(page);
  await repetition.evaluate((one) => one.takeOut());
  expect(await elements()).toBeLessThan(all / 4);
  expect(await page.locator("article img").count()).toBe(1);
  await repetition.evaluate((one) => one.giveBack());
  expect(await elements()).toBe(all);
});
