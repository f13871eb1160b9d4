/** A stand-in for Cloudflare: its API over HTTP, and the address of the Worker. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { ACCOUNT, CloudflareAccount, TOKEN } from "./cloudflare-account.ts";
import { Refusal } from "./refusal.ts";

type Answer = [status: number, body: unknown, headers?: Record<string, string>];

const BASE = "/client/v4";

export class Cloudflare {
  readonly account = new CloudflareAccount();
  /** The calls that change something, in order: `METHOD path`, the path below the account. */
  readonly changes: string[] = [];
  /** Calls that were refused. */
  readonly refused: string[] = [];
  /** The next call that matches fails before it does anything: `METHOD path body`. */
  failing: RegExp | undefined;
  readonly #server = createServer(async (request, response) => {
    const [status, body, headers] = await this.#answer(request);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(body));
  });

  static async open(): Promise<Cloudflare> {
    const cloudflare = new Cloudflare();
    cloudflare.#server.listen(0, "127.0.0.1");
    await once(cloudflare.#server, "listening");
    return cloudflare;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * The environment that leads wrangler here. It names the account, which wrangler would otherwise remember
   * for the repository.
   */
  get environment(): Record<string, string> {
    return {
      CLOUDFLARE_API_BASE_URL: this.origin + BASE,
      CLOUDFLARE_API_TOKEN: TOKEN,
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
    };
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage): Promise<Answer> {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", this.origin);
    const body = await buffer(request);
    const [, kind, key, file = ""] = pathname.split("/");
    if (kind === "upload") {
      const database = this.account.databases.find(({ uuid }) => uuid === key);
      return [200, {}, { etag: `"${database?.upload(file, body)}"` }];
    }
    if (!pathname.startsWith(BASE)) return this.#deployed();
    const call = `${request.method} ${pathname.replace(BASE, "").replace(`/accounts/${ACCOUNT}`, "")}`;
    try {
      if (this.failing?.test(`${call} ${body}`)) {
        this.failing = undefined;
        throw new Refusal(400, 10013, "An unknown error has occurred.");
      }
      const { headers } = request;
      const result = this.account.answer({ call, query, headers, body, origin: this.origin });
      const reads = request.method === "GET" || /"sql":"SELECT/.test(String(body));
      if (!reads) this.changes.push(call);
      return [
        200,
        { success: true, errors: [], messages: [], result, result_info: pageInfo(result) },
      ];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refused.push(`${call}: ${error.message}`);
      const errors = [{ code: error.code, message: error.message }];
      return [error.status, { success: false, errors, messages: [], result: null }];
    }
  }

  /** Answers at the Worker's own address once there is code, and not only the draft for its secrets. */
  #deployed(): Answer {
    const uploads = [...this.account.workers.values()].flatMap((worker) => worker.uploads);
    return uploads.some((upload) => upload.includes("PredictionObject")) ? [200, []] : [404, {}];
  }
}

function pageInfo(result: unknown) {
  if (!Array.isArray(result)) return undefined;
  const { length } = result;
  return { page: 1, per_page: 100, count: length, total_count: length, total_pages: 1 };
}
