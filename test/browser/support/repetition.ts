/** What a page says again and again in the same shape: to look at one of each is enough. */
import type { Page } from "playwright-core";

/** A page with fewer elements takes no longer than to look for what repeats, and may be in use meanwhile. */
const MANY = 1_000;

/**
 * Takes out of a large page, until it is given back, each part of lists, tables and texts that has nothing of its own to
 * look at: whose every element has the tags, classes and attributes above and in it that an earlier one
 * has, is as empty or full, and as much too large for its place. Of the reference, which is some 20,000
 * elements, a tenth stays.
 *
 * @returns gives it back
 */
export async function withoutRepetition(page: Page): Promise<() => Promise<void>> {
  const restore = await page.evaluateHandle((many) => {
    if (document.querySelectorAll("*").length < many) return () => {};
    const parts = "article, section, details, ul, li, tr, p, pre";
    const seen = new Set<string>();
    const repeated: Element[] = [];

    const shapeOf = (element: Element): string => {
      const attributes = [...element.attributes].map(({ name, value }) =>
        ["class", "role", "style", "type"].includes(name) ? `${name}=${value}` : name,
      );
      const isEmpty = !element.textContent?.trim();
      const overflows =
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight;
      return [element.localName, ...attributes.sort(), isEmpty, overflows].join(" ");
    };

    const shapesIn = (element: Element, above: string): string[] => {
      const shape = `${above} > ${shapeOf(element)}`;
      return [shape, ...[...element.children].flatMap((child) => shapesIn(child, shape))];
    };

    const visit = (element: Element, above: string): void => {
      if (element.matches(parts) && shapesIn(element, above).every((shape) => seen.has(shape))) {
        repeated.push(element);
        return;
      }
      const shape = `${above} > ${shapeOf(element)}`;
      seen.add(shape);
      for (const child of element.children) visit(child, shape);
    };

    visit(document.body, "");
    const places = repeated.map((element) => {
      const place = document.createComment("");
      element.replaceWith(place);
      return { place, element };
    });
    return () => {
      for (const { place, element } of places) place.replaceWith(element);
    };
  }, MANY);
  return async () => {
    await restore.evaluate((giveBack) => giveBack());
    await restore.dispose();
  };
}
