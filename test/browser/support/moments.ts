/** What somebody far from the server sees of a page at each moment: after every change of it. */
import type { Visitor } from "./visitor.ts";

/** Each way, for all that a page asks, ms. */
const LATENCY_MS = 300;

/** The texts of what can be seen, by what they are called. */
export type Moment<Name extends string> = Record<Name, string[]>;

export class Moments<Name extends string> {
  readonly #visitor: Visitor;

  /** @param places where each is, as a selector. From the next page on. */
  static async of<Name extends string>(
    visitor: Visitor,
    places: Record<Name, string>,
  ): Promise<Moments<Name>> {
    const { page } = visitor;
    await visitor.protocol().send("Network.enable");
    await visitor.protocol().send("Network.emulateNetworkConditions", {
      offline: false,
      latency: LATENCY_MS,
      downloadThroughput: -1,
      uploadThroughput: -1,
    });
    const selectors: Record<string, string> = places;
    await page.addInitScript((wanted) => {
      const moments: Record<string, string[]>[] = [];
      Object.assign(window, { moments });
      new MutationObserver(() => {
        const moment = Object.entries(wanted).map(([name, selector]) => {
          const seen = [...document.querySelectorAll(selector)].filter((one) =>
            one.checkVisibility(),
          );
          return [name, seen.map(({ textContent }) => (textContent ?? "").trim())] as const;
        });
        moments.push(Object.fromEntries(moment));
      }).observe(document, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
        attributeFilter: ["hidden", "aria-busy", "class"],
      });
    }, selectors);
    return new Moments<Name>(visitor);
  }

  private constructor(visitor: Visitor) {
    this.#visitor = visitor;
  }

  /** All since the page was loaded. */
  read(): Promise<Moment<Name>[]> {
    return this.#visitor.page.evaluate(
      () => Object.getOwnPropertyDescriptor(window, "moments")?.value ?? [],
    );
  }
}

/** In which order something was said, each once as long as it stays. */
export const inTurn = (said: string[]): string[] =>
  said.filter((one, n) => one !== said[n - 1] && one !== "");
