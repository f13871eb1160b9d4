/** What axe finds on a page, in light and in dark. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type axe from "axe-core";
import type { Page } from "playwright-core";
import { withoutRepetition } from "./repetition.ts";
import { prefer } from "./scheme.ts";

declare global {
  interface Window {
    axe: typeof axe;
  }
}

/** Half a megabyte less than what the package gives as its source. */
const source = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Pages that were looked at in this run, without what makes each its own: once is enough. */
const known = new Set<string>();

const VARIABLE = /[0-9a-f-]{8,}|\d+/g;

/** Others are advice. */
const GRAVE: unknown[] = ["serious", "critical"];

/** One line for each serious or critical fault. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const kind = `${page.viewportSize()?.width} ${(await page.content()).replace(VARIABLE, "")}`;
  if (known.has(kind)) return [];
  known.add(kind);
  // Evaluated over the debugger, where the page's content security policy does not reach.
  await page.evaluate(await source);
  const giveBack = await withoutRepetition(page);
  await prefer(page, "dark");
  const dark = await run(page, ["color-contrast"]);
  await prefer(page, "light");
  const light = await run(page);
  await giveBack();
  return [
    ...light.map((fault) => `in light: ${fault}`),
    ...dark.map((fault) => `in dark: ${fault}`),
  ];
}

/** @param runOnly these rules: the others do not depend on colours. */
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
