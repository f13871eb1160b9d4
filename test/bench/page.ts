/**
 * Pages in Chromium: their first paint next to that of a plain page, and the first token that a page shows
 * next to the same stream read by a program. In turn, on the same machine.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium, type Page } from "playwright-core";
import { findChromium } from "../browser/support/chromium.ts";
import { type Bed, OPERATOR_TOKEN, USERNAME } from "./bed.ts";
import type { Effort } from "./effort.ts";
import { firstOfNative } from "./first-token.ts";
import { inTurn } from "./round.ts";
import { median } from "./statistics.ts";
import { ms, type Table, times, type Verdict } from "./table.ts";

/** Flags for a container, which has no user namespaces for a sandbox, and 64 MB of shared memory. */
const FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
const PLAYGROUND = `/models/${USERNAME}/tokens`;
const PAGES = ["/", "/models", "/predictions", PLAYGROUND, "/docs"];
/** The limit of the slowest page, which is that of the documentation. */
const MOST_PAINT = 8;
const MOST_TOKEN = 4;

/** A heading and a line, without style or code. */
const PLAIN =
  '<!doctype html><html lang="en"><title>Plain</title><h1>Plain</h1><p>A line.</p></html>';

export async function measurePages(bed: Bed, { rounds }: Effort): Promise<Table> {
  const table = { title: "Pages in Chromium", head: ["", "Auspex", "floor", "ratio"] };
  const executablePath = findChromium();
  if (executablePath === undefined)
    return { ...table, rows: [], notes: ["There is no Chromium: set CHROMIUM_PATH."] };
  const plain = createServer((_, response) =>
    response.setHeader("content-type", "text/html").end(PLAIN),
  ).listen(0, "127.0.0.1");
  await once(plain, "listening");
  const browser = await chromium.launch({ executablePath, args: FLAGS });
  try {
    const page = await browser.newPage();
    // The address has a name instead of a number, because the session's cookie is for a name.
    const origin = bed.deployment.url.replace("127.0.0.1", "localhost");
    await signIn(page, origin);
    const bare = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`;
    const rows: string[][] = [];
    const ratios: number[] = [];
    for (const path of PAGES) {
      const paints = await pairOf(
        rounds,
        () => firstPaint(page, origin + path),
        () => firstPaint(page, bare),
      );
      ratios.push(paints.ratio);
      rows.push([`first paint of ${path}`, ...cellsOf(paints)]);
    }
    await openPlayground(page, origin);
    const token = await pairOf(
      rounds,
      () => firstToken(page),
      () => firstOfNative(bed),
    );
    rows.push(["first token in the playground", ...cellsOf(token)]);
    const verdicts: Verdict[] = [
      { what: "first paint, the slowest", value: Math.max(...ratios), bound: { most: MOST_PAINT } },
      { what: "first token that is shown", value: token.ratio, bound: { most: MOST_TOKEN } },
    ];
    return {
      ...table,
      rows,
      notes: [
        "first paint: next to a page of two lines without style or code, in the same browser",
        "first token: from the click to the frame that has it, next to the stream of the API in Node",
      ],
      verdicts,
    };
  } finally {
    await browser.close();
    plain.close();
  }
}

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/set-up`);
  const fields: [string, string][] = [
    ["Operator token", OPERATOR_TOKEN],
    ["Username", USERNAME],
    ["Email", `${USERNAME}@example.com`],
    ["Password", "a wise old owl"],
  ];
  for (const [label, text] of fields) await page.getByLabel(label).fill(text);
  await page.getByRole("button", { name: "Set up" }).click();
  await page.getByText("You are now an operator of this deployment").waitFor();
}

/** Returns the first contentful paint, ms from the start of the navigation. */
async function firstPaint(page: Page, address: string): Promise<number> {
  await page.goto(address);
  const paint = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  return (await (await page.waitForFunction(paint)).jsonValue()) ?? 0;
}

async function openPlayground(page: Page, origin: string): Promise<void> {
  await page.goto(origin + PLAYGROUND);
  await page.getByLabel("count", { exact: true }).fill("2");
  await page.getByLabel("per_second", { exact: true }).fill("50");
}

/** Runs in the page: returns the time from the click to the frame with a token of the new prediction, ms. */
const CLICK_TO_TOKEN = `new Promise((resolve) => {
  const shown = () => document.querySelector("[data-prediction]");
  const before = shown()?.dataset.prediction;
  const hasToken = () =>
    shown()?.dataset.prediction !== before && shown().querySelector("[data-output]").textContent !== "";
  const began = performance.now();
  document.querySelector("#playground-form button.primary").click();
  const look = () => (hasToken() ? resolve(performance.now() - began) : requestAnimationFrame(look));
  look();
})`;

async function firstToken(page: Page): Promise<number> {
  const took = await page.evaluate<number>(CLICK_TO_TOKEN);
  await page.getByRole("button", { name: "Run again" }).waitFor();
  return took;
}

interface Pair {
  ours: number;
  floor: number;
  ratio: number;
}

/** Returns medians of both sides. The first calls are left out because they are slower. */
async function pairOf(
  rounds: number,
  ours: () => Promise<number>,
  floor: () => Promise<number>,
): Promise<Pair> {
  await inTurn(2, ours, floor);
  const [a = 0, b = 0] = (await inTurn(rounds, ours, floor)).map((took) => median(took));
  return { ours: a, floor: b, ratio: a / b };
}

const cellsOf = ({ ours, floor, ratio }: Pair) => [ms(ours), ms(floor), times(ratio)];
