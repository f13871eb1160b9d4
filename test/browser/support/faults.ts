/** Faults of pages that a visitor opens: noted as they happen, reported at the next check. */
import type { BrowserContext, Page, Response } from "playwright-core";

/** An answer of 400 or above that a test expects. */
interface Refusal {
  status: number;
  path: string | RegExp;
}

/** The error of each request while a test has unplugged the browser: any other fault has another name. */
const UNPLUGGED = "net::ERR_INTERNET_DISCONNECTED";

/** Chromium logs this for each refused answer, which is noted itself, and for each request that fails. */
const BESIDE_REFUSAL = new RegExp(
  `^Failed to load resource: (?:the server responded with a status of|${UNPLUGGED})`,
);

export class Faults {
  readonly #noted: string[] = [];
  readonly #expected: Refusal[] = [];
  readonly #hosts: Set<string>;
  #isShutOut = false;

  constructor(context: BrowserContext, url: string) {
    this.#hosts = new Set([new URL(url).host]);
    context.on("console", (message) => {
      if (message.type() !== "error" || BESIDE_REFUSAL.test(message.text())) return;
      this.#note(message.page(), `console: ${message.text()}`);
    });
    context.on("weberror", (error) => this.#note(error.page(), String(error.error().stack)));
    context.on("request", (request) => {
      const { protocol, host } = new URL(request.url());
      const elsewhere = /^(?:http|ws)s?:$/.test(protocol) && !this.#hosts.has(host);
      if (elsewhere) this.#noted.push(`a request to another host: ${request.url()}`);
    });
    context.on("requestfailed", (request) => {
      const why = request.failure()?.errorText ?? "";
      // A reader who leaves a page aborts its event stream, and a download aborts its navigation.
      if (why !== "net::ERR_ABORTED" && why !== UNPLUGGED)
        this.#noted.push(`${why}: ${request.url()}`);
    });
    context.on("response", (response) => this.#answered(response));
  }

  /** Allows requests to another host: a login provider. */
  allow(address: string): void {
    this.#hosts.add(new URL(address).host);
  }

  /** Expects any number of 404 answers from here on. */
  shutOut(): void {
    this.#isShutOut = true;
  }

  /** Expects one such answer: it is no fault, and its absence is one. */
  expect(status: number, path: string | RegExp): void {
    this.#expected.push({ status, path });
  }

  /** Returns the faults since the last call. */
  take(): string[] {
    return this.#noted.splice(0);
  }

  /** Returns the faults since the last call, and the expected refusals that did not come. */
  takeAll(): string[] {
    const missing = this.#expected.splice(0);
    return [...this.take(), ...missing.map(({ status, path }) => `no ${status} of ${path}`)];
  }

  #answered(response: Response): void {
    if (response.status() < 400 || (this.#isShutOut && response.status() === 404)) return;
    const { pathname } = new URL(response.url());
    const index = this.#expected.findIndex(
      ({ status, path }) =>
        status === response.status() &&
        (typeof path === "string" ? path === pathname : path.test(pathname)),
    );
    if (index >= 0) this.#expected.splice(index, 1);
    else {
      const method = response.request().method();
      this.#noted.push(`${method} ${pathname} answered ${response.status()}`);
    }
  }

  #note(page: Page | null, text: string): void {
    this.#noted.push(`${page ? new URL(page.url()).pathname : "a page"}: ${text}`);
  }
}
