/**
 * Where containers report to: one HTTP server per runner, one unguessable path per run. A report
 * must also carry the token of the run's container, so that no container speaks for another.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { internal } from "../containers/failure.ts";
import { readBounded } from "./http.ts";

/** A report comes at once and whole: a container that dribbles is cut off. */
const REQUEST_TIMEOUT = 60_000;

export interface Expected {
  token: string;
  maxBytes: number;
  report(body: string): void;
  /** A report of more than `maxBytes` came. */
  tooLarge(): void;
}

export class Receiver {
  readonly #runs = new Map<string, Expected>();
  readonly #server = createServer({ requestTimeout: REQUEST_TIMEOUT }, (request, response) => {
    this.#receive(request, response).catch(() => response.destroy());
  });
  #base: URL | undefined;

  async listen(host: string): Promise<number> {
    this.#server.listen(0, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw internal("no port to listen on");
    return address.port;
  }

  /** Tells how containers reach the server: only the engine knows. */
  reachedAt(base: URL): void {
    this.#base = base;
  }

  /** Opens a path for one run. */
  expect(run: Expected): { url: string; close: () => void } {
    if (!this.#base) throw internal("the webhook receiver is not open");
    const path = `/${randomBytes(18).toString("base64url")}`;
    this.#runs.set(path, run);
    return { url: new URL(path, this.#base).href, close: () => this.#runs.delete(path) };
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const run = this.#runs.get(request.url ?? "");
    if (!run || request.method !== "POST" || !isBearer(request, run.token)) {
      // Not read, so that nobody can keep the runner busy: the connection is of no more use.
      response.writeHead(404, { connection: "close" }).end(() => request.destroy());
      return;
    }
    const body = await readBounded(request, run.maxBytes);
    if (body === undefined) return run.tooLarge();
    // Before the report is looked at: a slow receiver blocks cancels in Cog up to 0.16.
    response.writeHead(200).end();
    run.report(body);
  }
}

function isBearer({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
