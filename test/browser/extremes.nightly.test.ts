/** Texts that are long, without a space, or from right to left: on a desktop, at 200 %, and on a phone. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeFleet, makeOwn, SLUG, tokenOf } from "./support/extremes.ts";
import { OPERATOR, Site } from "./support/site.ts";
import type { Visitor } from "./support/visitor.ts";

let site: Site;
let fleet: string[];
let own: string[];

beforeAll(async () => {
  site = await Site.open();
  await site.world.runner("one");
  fleet = await makeFleet(site.world.operator, site.url);
  const client = await site.clientOf(SLUG);
  await tokenOf(site.world.operator, SLUG);
  own = await makeOwn(client, `${OPERATOR}/gated`);
});
afterAll(() => site.close());

describe.each([
  ["whose texts they are", SLUG, () => own],
  ["an operator", OPERATOR, () => fleet],
])("for %s", (_, username, addresses) => {
  let visitor: Visitor;
  beforeAll(async () => {
    visitor = await site.visitor({ as: username });
  });
  afterAll(() => site.leave());

  it("every page fits its window, and text from right to left runs in its own direction", async () => {
    const faults: string[] = [];
    for (const address of addresses()) {
      await visitor.open(address).catch((error: Error) => faults.push(error.message));
      await visitor.zoom().catch((error: Error) => faults.push(error.message));
      await visitor.narrow().catch((error: Error) => faults.push(error.message));
      await visitor.widen();
      for (const one of await misdirected(visitor.page)) faults.push(`${address}: ${one}`);
    }
    expect(faults).toEqual([]);
  });
});

/**
 * Returns texts from right to left in lines that are not, which would turn the texts next to them around.
 * Code runs from left to right.
 */
const misdirected = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found = new Set<string>();
    /** Whether an element up to the block isolates its direction. */
    const isIsolated = (element: Element): boolean => {
      const { direction, unicodeBidi, display } = getComputedStyle(element);
      if (direction === "rtl" || unicodeBidi === "plaintext") return true;
      const { parentElement } = element;
      return display === "inline" && parentElement !== null && isIsolated(parentElement);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
      const parent = node.parentElement;
      if (!parent || !/^\P{L}*[\u0590-\u05ff]/u.test(node.nodeValue ?? "")) continue;
      if (parent.closest("pre, code, option, textarea, script, title, svg")) continue;
      if (isIsolated(parent)) continue;
      const start = (parent.parentElement ?? parent).outerHTML.slice(0, 160);
      found.add(start.replace(/\s+/g, " "));
    }
    return [...found];
  });
