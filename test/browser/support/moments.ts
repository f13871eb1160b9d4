/** The moments of a page far from the server: its visible texts after every change. */
import type { Visitor } from "./visitor.ts";

/** The latency of each direction, for all requests of a page, ms. */
const LATENCY_MS = 300;

/** Visible texts by name. */
export type Moment<Name extends string> = Record<Name, string[]>;

export class Moments<Name extends string> {
  readonly #visitor: Visitor;

  /** Records moments from the next page on. @param places a selector for each name */
  static async of<Name extends string>(
    visitor: Visitor,
    places: Record<Name, string>,
  ): Promise<Moments<Name>> {
    const { page } = visitor;
    await visitor.protocol().send("Network.enable");
    await connect(visitor, true);
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

  /** Breaks all connections, and lets none through until `plugIn`. */
  unplug(): Promise<void> {
    return connect(this.#visitor, false);
  }

  plugIn(): Promise<void> {
    return connect(this.#visitor, true);
  }

  /** Puts another tab in front: nothing of the page runs until the reader comes back to it. */
  async leaveTab(): Promise<void> {
    await this.#show(false);
    await this.#visitor.protocol().send("Page.setWebLifecycleState", { state: "frozen" });
  }

  async comeBack(): Promise<void> {
    await this.#visitor.protocol().send("Page.setWebLifecycleState", { state: "active" });
    await this.#show(true);
  }

  /** Sets `document.hidden`: a browser without a window takes each of its tabs for the one in front. */
  #show(isInFront: boolean): Promise<void> {
    return this.#visitor.page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, value: hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, !isInFront);
  }

  /** Returns all moments since the page was loaded. */
  read(): Promise<Moment<Name>[]> {
    return this.#visitor.page.evaluate(
      () => Object.getOwnPropertyDescriptor(window, "moments")?.value ?? [],
    );
  }
}

async function connect(visitor: Visitor, isPluggedIn: boolean): Promise<void> {
  await visitor.protocol().send("Network.emulateNetworkConditions", {
    offline: !isPluggedIn,
    latency: LATENCY_MS,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
}

/** Returns texts in their order, each once as long as it stays. */
export const inTurn = (said: string[]): string[] =>
  said.filter((one, n) => one !== said[n - 1] && one !== "");
