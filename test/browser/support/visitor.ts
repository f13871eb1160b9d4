/** A visitor with a browser of their own, whose every page is checked. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import type { Browser, BrowserContext, CDPSession, Page, Response } from "playwright-core";
import { expect } from "vitest";
import { sized } from "../../support/sized.ts";
import { accessibilityFaults, prefer } from "./accessibility.ts";
import { Faults } from "./faults.ts";

/** The folder for pictures of all pages, if set. */
const { AUSPEX_PICTURES: PICTURES } = process.env;

/** The most bytes of a page's HTML, CSS and JavaScript together, compressed. */
const MAX_WEIGHT = 100_000;

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
/** A desktop window at 200 %. */
const ZOOMED = { width: DESK.width / 2, height: DESK.height / 2 };

/** The most time that a page or element may take, ms: only one that never comes must fail, on any machine. */
const PATIENCE = 120_000;

export interface VisitorOptions {
  /** The cookies of another visitor's `session()`. */
  session?: Session;
  phone?: boolean;
  /**
   * Whether axe checks, for every change, the pages that have many new parts (accessibility.ts). At night it
   * checks every page of every visitor.
   */
  axe?: boolean;
}

export type Session = Awaited<ReturnType<BrowserContext["storageState"]>>;

interface Opening {
  /** The expected status of the answer; 200 by default. */
  status?: number;
  /** Whether to check, too, that the first view needs no client code. */
  withoutCode?: boolean;
}

export class Visitor {
  readonly page: Page;
  readonly #protocol: CDPSession;
  readonly #faults: Faults;
  readonly #weight: Weight;
  readonly #hasAxe: boolean;

  static async arrive(
    browser: Browser,
    url: string,
    { session, phone = false, axe = false }: VisitorOptions = {},
  ): Promise<Visitor> {
    const context = await browser.newContext({
      baseURL: url,
      locale: "en-GB",
      timezoneId: "Europe/Athens",
      viewport: phone ? PHONE : DESK,
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
      ...(session && { storageState: session }),
    });
    context.setDefaultTimeout(PATIENCE);
    const faults = new Faults(context, url);
    const page = await context.newPage();
    return new Visitor(page, await context.newCDPSession(page), faults, sized(axe, true));
  }

  private constructor(page: Page, protocol: CDPSession, faults: Faults, hasAxe: boolean) {
    this.page = page;
    this.#protocol = protocol;
    this.#faults = faults;
    this.#weight = new Weight(page);
    this.#hasAxe = hasAxe;
  }

  /** Opens a page, and checks it. */
  async open(path: string, { status = 200, withoutCode = false }: Opening = {}): Promise<void> {
    const plain = withoutCode ? await this.#linesWithoutCode(path, status) : undefined;
    await this.#go(path, status);
    await this.look();
    if (plain === undefined || isDeepStrictEqual(await linesOf(this.page), plain)) return;
    // The page may have changed between the two views, so only a difference that stays is a fault.
    const again = await this.#linesWithoutCode(path, status);
    await this.#go(path, status);
    expect(await linesOf(this.page), `${path} with client code and without`).toEqual(again);
  }

  /** Waits for the page that a link or a form leads to, by its path and query, and checks it. */
  async arrives(at: string | RegExp): Promise<void> {
    await this.page.waitForURL(({ pathname, search }) =>
      typeof at === "string" ? pathname + search === at : at.test(pathname + search),
    );
    await this.look();
  }

  /** Checks the present page. @throws an Error that names all faults */
  async look(): Promise<void> {
    const { page } = this;
    await page.waitForLoadState("load");
    const faults = this.#hasAxe ? await accessibilityFaults(page) : [];
    const weight = await this.#weight.total();
    if (weight > MAX_WEIGHT) faults.push(`weighs ${weight} bytes, and may ${MAX_WEIGHT}`);
    const wider = await overhang(page);
    if (wider > 0) faults.push(`scrolls sideways, by ${wider} pixels`);
    none(page.url(), [...faults, ...this.#faults.take()]);
  }

  /** Makes the window as wide as a phone's, and checks that the page fits. */
  async narrow(): Promise<void> {
    await this.#fits(PHONE, "on a phone");
  }

  /** Shows everything twice as large, and checks that the page fits. */
  async zoom(): Promise<void> {
    await this.#fits(ZOOMED, "at 200 %");
  }

  async #fits(size: typeof PHONE, where: string): Promise<void> {
    await this.page.setViewportSize(size);
    const wider = await overhang(this.page);
    none(this.page.url(), wider > 0 ? [`scrolls sideways ${where}, by ${wider} pixels`] : []);
  }

  async widen(): Promise<void> {
    await this.page.setViewportSize(DESK);
  }

  /** Saves pictures of the page in dark and light, if there is a folder for them. */
  async shoot(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    const file = join(PICTURES, name.replace(/\W+/g, "-"));
    for (const scheme of ["dark", "light"] as const) {
      await prefer(this.page, scheme);
      await this.page.screenshot({ path: `${file}-${scheme}.png`, fullPage: true });
    }
  }

  /** Expects one answer of 400 or above. */
  expects(status: number, path: string | RegExp): void {
    this.#faults.expect(status, path);
  }

  /** Allows pages that lead to another host. */
  goesTo(address: string): void {
    this.#faults.allow(address);
  }

  /** Expects that the open page ends: it asks for what the user may not see any more. */
  losesAccess(): void {
    this.#faults.shutOut();
  }

  /** Returns the cookies that sign another visitor in as the same user. */
  session(): Promise<Session> {
    return this.page.context().storageState();
  }

  /** Returns Chromium's own protocol, for what playwright has no call for. */
  protocol(): CDPSession {
    return this.#protocol;
  }

  /** Closes the browser, and checks that it had no faults. */
  async leave(): Promise<void> {
    await this.page.context().close();
    none("when they left", this.#faults.takeAll());
  }

  /**
   * Opens the page without client code in the same window: another window would be another process for each
   * page.
   */
  async #linesWithoutCode(path: string, status: number): Promise<string[]> {
    await this.#protocol.send("Emulation.setScriptExecutionDisabled", { value: true });
    try {
      await this.#go(path, status);
      return await linesOf(this.page);
    } finally {
      await this.#protocol.send("Emulation.setScriptExecutionDisabled", { value: false });
    }
  }

  async #go(path: string, status: number): Promise<void> {
    if (status >= 400) this.expects(status, path.replace(/[?#].*/, ""));
    const response = await this.page.goto(path);
    expect([path, response?.status()]).toEqual([path, status]);
  }
}

function none(place: string, faults: string[]): void {
  if (faults.length > 0) throw new Error([place, ...faults].join("\n- "));
}

/** Returns by how much a page is wider than its window, in pixels. */
const overhang = (page: Page) =>
  page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - window.innerWidth));

/**
 * Returns the lines of a page's main part. Buttons are left out because client code adds them, times because
 * it puts them in the reader's zone, and `noscript` because only pages without client code show it.
 */
function linesOf(page: Page): Promise<string[]> {
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

/** Weights of assets by address; a file with a hash in its name never changes. */
const assets = new Map<string, Promise<number>>();

/**
 * The weight of a page in transit: HTML, CSS and JavaScript, each compressed as gzip does by default. Follows the
 * page, to know the parts of its document.
 */
class Weight {
  #document: Response | undefined;
  readonly #parts = new Set<string>();

  constructor(page: Page) {
    page.on("request", (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
        this.#parts.clear();
      }
      if (/^(?:script|stylesheet)$/.test(request.resourceType())) this.#parts.add(request.url());
    });
    page.on("response", (response) => {
      const request = response.request();
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) {
        this.#document = response;
      }
    });
  }

  /** Returns the weight of the page, bytes. */
  async total(): Promise<number> {
    if (this.#document === undefined) throw new Error("No page was opened yet.");
    const parts = [...this.#parts].map((url) => {
      const known = assets.get(url) ?? weigh(url);
      assets.set(url, known);
      return known;
    });
    const sizes = await Promise.all(parts);
    return sizes.reduce((sum, size) => sum + size, compressed(await this.#document.body()));
  }
}

const weigh = async (url: string) =>
  compressed(Buffer.from(await (await fetch(url)).arrayBuffer()));

const compressed = (body: Buffer) => gzipSync(body, { level: 6 }).length;
