/** Faults that axe finds on a page, in light and in dark. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type axe from "axe-core";
import type { Page } from "playwright-core";
import { repetitionOn } from "./repetition.ts";
import { prefer } from "./scheme.ts";

declare global {
  interface Window {
    axe: typeof axe;
  }
}

/** The minified source is half a megabyte smaller than the package's `source`. */
const source = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Shapes that were checked in this run, by the width of the window: one check is enough. */
const seen = new Map<number | undefined, Set<number>>();

/** The impacts that are faults; others are advice. */
const GRAVE: unknown[] = ["serious", "critical"];

/** Returns one line for each serious or critical fault. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const width = page.viewportSize()?.width;
  const known = seen.get(width) ?? new Set();
  seen.set(width, known);
  const repetition = await repetitionOn(page);
  const shapes = await repetition.evaluate((one) => one.shapes);
  if (shapes.every((shape) => known.has(shape))) return [];
  for (const shape of shapes) known.add(shape);
  // The debugger evaluates it, because the page's content security policy forbids a script element.
  await page.evaluate(await source);
  await repetition.evaluate((one) => one.takeOut());
  await prefer(page, "dark");
  const dark = await run(page, ["color-contrast"]);
  await prefer(page, "light");
  const light = await run(page);
  await repetition.evaluate((one) => one.giveBack());
  return [
    ...light.map((fault) => `in light: ${fault}`),
    ...dark.map((fault) => `in dark: ${fault}`),
  ];
}

/** Runs axe. @param runOnly only these rules: others do not depend on colours */
async function run(page: Page, runOnly?: string[]): Promise<string[]> {
  const violations = await page.evaluate(async (rules) => {
    const options = rules === undefined ? {} : { runOnly: rules };
    const results = await window.axe.run(document, {
      ...options,
      preload: false,
      resultTypes: ["violations"],
    });
    return results.violations;
  }, runOnly);
  return violations
    .filter(({ impact }) => GRAVE.includes(impact))
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html} ${failureSummary}`),
    );
}
