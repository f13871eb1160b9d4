/** What a page shows, with client code and without. */
import type { Page } from "playwright-core";

/**
 * The lines of its main part. Without buttons and times: client code adds the ones and puts the
 * others in the reader's own zone; and without what is said only where there is none.
 */
export function linesOf(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const main = document.querySelector("main");
    if (main === null) throw new Error("The page has no main part.");
    const aside = main.querySelectorAll<HTMLElement>("button, time, noscript");
    for (const element of aside) element.style.display = "none";
    const lines = main.innerText.split("\n").map((line) => line.replace(/\s+/g, " ").trim());
    for (const element of aside) element.style.display = "";
    return lines.filter((line) => line !== "");
  });
}
