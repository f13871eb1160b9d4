/** Elements of a page that a reader without a mouse reaches. */
import type { Page } from "playwright-core";

/** More stops than any page has. */
const MAX_STOPS = 200;

interface Walk {
  /** All usable elements, in the order of the page. */
  controls: string[];
  /** Elements that Tab reaches, in its order. */
  stops: string[];
  /** Stops that do not show that they have the focus. */
  unmarked: string[];
}

/** Walks from the top of the page with Tab until the first stop comes again. */
export async function walk(page: Page): Promise<Walk> {
  const controls = await page.evaluate(() => {
    const all = document.querySelectorAll<HTMLElement>(
      "a[href], button, input, select, textarea, summary, [tabindex='0']",
    );
    const usable = [...all].filter(
      (element) => element.checkVisibility() && !element.matches(":disabled"),
    );
    // The chosen radio button of a group is its stop; arrows lead to the others.
    const stops = usable.filter((element) => {
      if (!(element instanceof HTMLInputElement) || element.type !== "radio") return true;
      return element.checked;
    });
    // Names are in a map, because attributes would make client code replace the elements of a part that it
    // refreshes.
    const names = new Map<Element, string>();
    Object.assign(window, { stopNames: names });
    return stops.map((element, n) => {
      const words = element.ariaLabel ?? element.innerText;
      const name = `${n} ${element.localName} ${words || element.getAttribute("name")}`;
      names.set(element, name);
      return name;
    });
  });
  const stops: string[] = [];
  const unmarked: string[] = [];
  for (let presses = 0; presses < MAX_STOPS; presses++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      if (!(element instanceof HTMLElement) || element === document.body) return undefined;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      const marked = outlineStyle !== "none" && outlineWidth !== "0px";
      const names = Object.getOwnPropertyDescriptor(window, "stopNames")?.value;
      const stop = names instanceof Map ? names.get(element) : undefined;
      return { stop: stop === undefined ? undefined : String(stop), marked };
    });
    if (at === undefined || (stops.length > 1 && at.stop === stops[0])) break;
    // The first of several stops within one control counts, as in a date; a box that scrolls is no control.
    if (at.stop === undefined || at.stop === stops.at(-1)) continue;
    stops.push(at.stop);
    if (!at.marked) unmarked.push(at.stop);
  }
  return { controls, stops, unmarked };
}
