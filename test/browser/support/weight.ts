/** The weight of a page in transit: HTML, CSS and JavaScript, each compressed as gzip does by default. */
import { gzipSync } from "node:zlib";
import type { Page, Response } from "playwright-core";

/** Weights by address; a file with a hash in its name never changes. */
const assets = new Map<string, Promise<number>>();

/** Follows a page, to know the parts of its document. */
export class Weight {
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
