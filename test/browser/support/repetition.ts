/** Parts of pages that repeat in the same shape: a check of one of each is enough. */
import type { JSHandle, Page } from "playwright-core";

/**
 * The shape of an element is all of it that can have faults, without its words: its tag, its classes and
 * attributes and those above it, and whether it is empty, is filled in, has an ID that another has, or is too
 * large for its place.
 */
interface Repetition {
  /** The shapes of all elements, as hashes. */
  shapes: number[];
  /** Takes out, until `giveBack`, each part that has only shapes that were before it. */
  takeOut(): void;
  giveBack(): void;
}

/**
 * A check of a page with fewer elements is as quick as the search for repetition, and the page may be in use
 * meanwhile.
 */
const MANY = 1_000;

export const repetitionOn = (page: Page): Promise<JSHandle<Repetition>> =>
  page.evaluateHandle((many) => {
    const parts = "article, section, details, ul, li, tr, p, pre";
    const root = document.documentElement;

    const hash = (text: string, above: number): number => {
      let sum = above;
      for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16777619);
      return sum;
    };

    const shapeOf = (element: Element): string => {
      const attributes = [...element.attributes].map(({ name, value }) =>
        // A value of words may have a meaning; lengths, names, addresses and texts do not.
        /^[a-z -]{0,40}$/.test(value) || ["class", "style"].includes(name)
          ? `${name}=${value.replace(/[\d.]+/g, "")}`
          : name,
      );
      const field = element instanceof HTMLInputElement ? element : undefined;
      return [
        element.localName,
        ...attributes.sort(),
        !element.textContent?.trim(),
        element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight,
        element.id !== "" && document.querySelectorAll(`#${CSS.escape(element.id)}`).length > 1,
        field && [field.checked, field.value === "", field.validity.valid],
      ].join(" ");
    };

    const shapesIn = (element: Element, above: number): number[] => {
      const shape = hash(shapeOf(element), above);
      return [shape, ...[...element.children].flatMap((child) => shapesIn(child, shape))];
    };

    const places: { place: Comment; element: Element }[] = [];
    const takeOut = () => {
      if (document.querySelectorAll("*").length < many) return;
      const seen = new Set<number>();
      const repeated: Element[] = [];
      const visit = (element: Element, above: number): void => {
        if (element.matches(parts) && shapesIn(element, above).every((one) => seen.has(one))) {
          repeated.push(element);
          return;
        }
        const shape = hash(shapeOf(element), above);
        seen.add(shape);
        for (const child of element.children) visit(child, shape);
      };
      visit(root, 0);
      for (const element of repeated) {
        const place = document.createComment("");
        element.replaceWith(place);
        places.push({ place, element });
      }
    };
    const giveBack = () => {
      for (const { place, element } of places.splice(0)) place.replaceWith(element);
    };
    return { shapes: [...new Set(shapesIn(root, 0))], takeOut, giveBack };
  }, MANY);
