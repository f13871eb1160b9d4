/** Faults that axe finds on a page, in light, and at night also in dark. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type axe from "axe-core";
import type { JSHandle, Page } from "playwright-core";
import { sized } from "../../support/sized.ts";

declare global {
  interface Window {
    axe: typeof axe;
  }
}

/** The minified source is half a megabyte smaller than the package's `source`. */
const source = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Shapes that were checked in this run, by the width of the window: one check is enough. */
const seen = new Map<number | undefined, Set<number>>();

/** axe checks a page by day if it has at least this many new shapes, because a check takes half a second. */
const MIN_NEW = sized(60, 1);

/** The impacts that are faults; others are advice. */
const GRAVE: unknown[] = ["serious", "critical"];

/** Returns one line for each serious or critical fault. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  const width = page.viewportSize()?.width;
  const known = seen.get(width) ?? new Set();
  seen.set(width, known);
  const repetition = await repetitionOn(page);
  const shapes = await repetition.evaluate((one) => one.shapes);
  if (shapes.filter((shape) => !known.has(shape)).length < MIN_NEW) return [];
  for (const shape of shapes) known.add(shape);
  // The debugger evaluates it, because the page's content security policy forbids a script element.
  await page.evaluate(await source);
  await repetition.evaluate((one) => one.takeOut());
  const dark = sized(false, true) ? await runInDark(page) : [];
  await prefer(page, "light");
  const light = await run(page);
  await repetition.evaluate((one) => one.giveBack());
  return [
    ...light.map((fault) => `in light: ${fault}`),
    ...dark.map((fault) => `in dark: ${fault}`),
  ];
}

/** Only the contrast depends on colours. */
async function runInDark(page: Page): Promise<string[]> {
  await prefer(page, "dark");
  return run(page, ["color-contrast"]);
}

/** Runs axe. @param runOnly only these rules */
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

    // A search of the whole page for each ID would take seconds on the reference, which has thousands.
    const ids = new Map<string, number>();
    for (const { id } of document.querySelectorAll("[id]")) ids.set(id, (ids.get(id) ?? 0) + 1);

    const describe = (element: Element): string => {
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
        (ids.get(element.id) ?? 0) > 1,
        field && [field.checked, field.value === "", field.validity.valid],
      ].join(" ");
    };

    const shapes = new Map<Element, number>();
    const shapeOf = (element: Element): number => {
      const known = shapes.get(element);
      if (known !== undefined) return known;
      const above = element.parentElement;
      const shape = hash(describe(element), above ? shapeOf(above) : 0);
      shapes.set(element, shape);
      return shape;
    };
    for (const element of document.querySelectorAll("*")) shapeOf(element);

    const places: { place: Comment; element: Element }[] = [];
    const takeOut = () => {
      if (document.querySelectorAll("*").length < many) return;
      const seen = new Set<number>();
      const repeated: Element[] = [];
      const isRepeated = (element: Element) =>
        element.matches(parts) &&
        [element, ...element.querySelectorAll("*")].every((one) => seen.has(shapeOf(one)));
      const visit = (element: Element): void => {
        if (isRepeated(element)) {
          repeated.push(element);
          return;
        }
        seen.add(shapeOf(element));
        for (const child of element.children) visit(child);
      };
      visit(root);
      for (const element of repeated) {
        const place = document.createComment("");
        element.replaceWith(place);
        places.push({ place, element });
      }
    };
    const giveBack = () => {
      for (const { place, element } of places.splice(0)) place.replaceWith(element);
    };
    return { shapes: [...new Set(shapes.values())], takeOut, giveBack };
  }, MANY);
