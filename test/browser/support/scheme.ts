/** The colour scheme that a reader prefers. */
import type { Page } from "playwright-core";

/** Shows the page in a colour scheme; resolves when the transition is over. */
export async function prefer(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme });
  await page.evaluate(async () => {
    // A colour in transition is not final, and an element that inherits it starts only when it has arrived.
    const moving = () =>
      document
        .getAnimations()
        .filter(({ playState }) => playState === "running")
        .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY);
    for (let all = moving(); all.length > 0; all = moving()) {
      for (const animation of all) animation.finish();
      await new Promise(requestAnimationFrame);
    }
  });
}
