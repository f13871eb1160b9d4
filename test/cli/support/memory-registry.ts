/** A registry in memory: uploads, blobs and manifests of OCI's distribution specification. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";

export const sha256 = (bytes: Buffer | string): string =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

type Api = (
  method: string,
  path: string,
  body: Record<string, unknown>,
  query: URLSearchParams,
) => object | Readable | "invalid" | undefined;

export class MemoryRegistry {
  readonly blobs = new Map<string, Buffer>();
  /** Blobs of the account's other repositories. */
  readonly mountable = new Map<string, Buffer>();
  /** Manifests by tag and by digest. */
  readonly manifests = new Map<string, { type: string; bytes: Buffer }>();
  /** The received bytes of unfinished uploads. */
  readonly uploads = new Map<string, Buffer>();
  /** Requests so far, as `PATCH 0-99`. */
  readonly requests: string[] = [];
  url = "";
  #begun = 0;
  readonly #server: Server;
  readonly #headers: Record<string, string>;
  readonly #api: Api | undefined;

  /** @param api answers requests below /v1, in JSON or with a stream; without it they are a 404 */
  static async open(headers: Record<string, string> = {}, api?: Api): Promise<MemoryRegistry> {
    const registry = new MemoryRegistry(headers, api);
    registry.#server.listen(0, "127.0.0.1");
    await once(registry.#server, "listening");
    const address = registry.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    registry.url = `http://127.0.0.1:${address.port}`;
    return registry;
  }

  /** @param headers of the answer that begins an upload */
  private constructor(headers: Record<string, string>, api: Api | undefined) {
    this.#headers = headers;
    this.#api = api;
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", this.url);
    if (url.pathname.startsWith("/v1/")) {
      const text = (await buffer(request)).toString();
      const body = text === "" ? {} : JSON.parse(text);
      const answer = this.#api?.(method, url.pathname, body, url.searchParams);
      const problem = { type: "t", title: "t", detail: "There is no such thing.", request_id: "r" };
      if (answer === "invalid")
        return void response.writeHead(422).end(JSON.stringify({ ...problem, status: 422 }));
      if (answer instanceof Readable) return void answer.pipe(response);
      const sent = JSON.stringify(answer ?? { ...problem, status: 404 });
      return void response.writeHead(answer ? 200 : 404).end(sent);
    }
    this.requests.push([method, headers["content-range"]].filter(Boolean).join(" "));
    if (url.pathname === "/v2/") return void response.writeHead(200).end("{}");
    const [, kind, key = ""] = /\/(uploads|blobs|manifests)\/([^/]*)$/.exec(url.pathname) ?? [];
    if (kind === "uploads") return this.#upload(request, response, key, url);
    if (kind === "manifests" && method === "PUT") {
      const bytes = await buffer(request);
      const one = { type: headers["content-type"] ?? "", bytes };
      this.manifests.set(key, one).set(sha256(bytes), one);
      return void response.writeHead(201, { "docker-content-digest": sha256(bytes) }).end();
    }
    if (kind === "manifests" && method === "DELETE") return this.#delete(response, key);
    if (url.pathname.endsWith("/tags/list")) {
      const tags = [...this.manifests.keys()].filter((one) => !one.includes(":")).sort();
      return void response.writeHead(200).end(JSON.stringify({ tags }));
    }
    const manifest = this.manifests.get(key);
    const bytes = kind === "manifests" ? manifest?.bytes : this.blobs.get(key);
    if (!bytes) return fail(response, 404, "BLOB_UNKNOWN");
    const type = manifest?.type ?? "application/octet-stream";
    response.writeHead(200, {
      "content-type": type,
      "content-length": bytes.length,
      "docker-content-digest": sha256(bytes),
    });
    response.end(method === "HEAD" ? undefined : bytes);
  }

  /** Deletes a tag, or a digest with its tags. */
  #delete(response: ServerResponse, key: string): void {
    const found = this.manifests.get(key);
    if (!found) return fail(response, 404, "MANIFEST_UNKNOWN");
    for (const [reference, one] of this.manifests)
      if (reference === key || (key.includes(":") && sha256(one.bytes) === key))
        this.manifests.delete(reference);
    response.writeHead(202).end();
  }

  async #upload(request: IncomingMessage, response: ServerResponse, id: string, url: URL) {
    const { method, headers } = request;
    if (method === "POST") {
      const mount = url.searchParams.get("mount") ?? "";
      const mounted = this.mountable.get(mount);
      if (mounted) {
        this.blobs.set(mount, mounted);
        return void response.writeHead(201, { location: `/v2/x/blobs/${mount}` }).end();
      }
      const own = String(++this.#begun);
      this.uploads.set(own, Buffer.alloc(0));
      const location = `${url.pathname}${own}`;
      return void response.writeHead(202, { ...this.#headers, location }).end();
    }
    const there = this.uploads.get(id);
    if (!there) return fail(response, 404, "BLOB_UPLOAD_UNKNOWN");
    const answer = (status: number) => {
      const { length } = this.uploads.get(id) ?? there;
      const range = length > 0 ? { range: `0-${length - 1}` } : {};
      response.writeHead(status, { location: url.pathname, ...range }).end();
    };
    if (method === "GET") return answer(204);
    if (method === "DELETE") {
      this.uploads.delete(id);
      return void response.writeHead(204).end();
    }
    const [first] = headers["content-range"]?.split("-") ?? [];
    if (first !== undefined && Number(first) !== there.length) {
      request.resume();
      return answer(416);
    }
    // The received bytes are kept, also when the rest does not come.
    const chunks = [there];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } finally {
      this.uploads.set(id, Buffer.concat(chunks));
    }
    if (method === "PATCH") return answer(202);
    const digest = url.searchParams.get("digest") ?? "";
    const bytes = this.uploads.get(id) ?? there;
    this.uploads.delete(id);
    if (sha256(bytes) !== digest) return fail(response, 400, "DIGEST_INVALID");
    this.blobs.set(digest, bytes);
    response.writeHead(201, { location: `/v2/x/blobs/${digest}` }).end();
  }
}

function fail(response: ServerResponse, status: number, code: string): void {
  const body = JSON.stringify({ errors: [{ code, message: `no: ${code}` }] });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
