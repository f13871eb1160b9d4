/** The text of a page, with client code and without. */
import type { Page } from "playwright-core";

/**
 * Returns the lines of a page's main part. Buttons are left out because client code adds them, times because
 * it puts them in the reader's zone, and `noscript` because only pages without client code show it.
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
