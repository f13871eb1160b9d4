/**
 * The deployment's registry for a runner: Debian's docker-registry behind a proxy that requires the grant as
 * the token, and that can cut connections, hold answers back and refuse.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Image } from "../../../src/protocol/runner.ts";
import { docker, type Registry } from "../../docker/registry.ts";

/** A request for a blob, as it went. */
export interface BlobRequest {
  digest: string;
  /** The first byte of its `Range` header. */
  from: number;
  /** The number of bytes that were sent. */
  bytes: number;
}

/** The fault of a request for a blob. */
export type Fault = { cutAfter: number } | "held" | undefined;

export interface OwnImage extends Image {
  grant: string;
  /** Digests of the image's layers, the lowest first. */
  layers: string[];
}

export class OwnRegistryProxy {
  readonly grant = `grant-${randomBytes(16).toString("hex")}`;
  readonly blobs: BlobRequest[] = [];
  fault: (digest: string) => Fault = () => undefined;
  readonly #held = new Set<ServerResponse>();
  readonly #registry: Registry;
  readonly #server: Server;

  static async start(registry: Registry): Promise<OwnRegistryProxy> {
    const proxy = new OwnRegistryProxy(registry);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(registry: Registry) {
    this.#registry = registry;
    this.#server = createServer((asked, answer) => this.#answer(asked, answer));
  }

  get host(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("not listening");
    return `127.0.0.1:${address.port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** Pushes an image with a layer for each of these commands, and removes it from Docker. */
  async push(base: string, commands: string[]): Promise<OwnImage> {
    const repository = `auspex/models/${randomUUID()}`;
    const name = `${this.#registry.host}/${repository}`;
    const context = mkdtempSync(join(tmpdir(), "auspex-own-"));
    try {
      writeFileSync(join(context, "Dockerfile"), `FROM ${base}\n${commands.join("\n")}\n`);
      await docker("build", "--quiet", "--no-cache", "--tag", name, context);
      const sent = await this.#registry.send(repository);
      await docker("image", "rm", name);
      return { repository, grant: this.grant, ...sent };
    } finally {
      rmSync(context, { recursive: true });
    }
  }

  async stop(): Promise<void> {
    const format = "{{.Repository}}@{{.Digest}}";
    const images = await docker("images", "--digests", "--format", format, `${this.host}/*/*/*`);
    this.#server.close();
    this.#server.closeAllConnections();
    for (const reference of images.split("\n").filter(Boolean))
      await docker("image", "rm", "--force", reference);
  }

  /** Ends all faults. Held requests are cut, because Docker does not give up a request by itself. */
  recover(): void {
    this.fault = () => undefined;
    for (const answer of this.#held) answer.destroy();
    this.#held.clear();
  }

  #answer(asked: IncomingMessage, answer: ServerResponse): void {
    const { pathname } = new URL(asked.url ?? "", this.url);
    if (pathname === "/v2/token") return this.#giveToken(asked, answer);
    if (asked.headers.authorization !== `Bearer ${this.grant}`) return this.#challenge(answer);
    const [, digest] = /\/blobs\/(sha256:[0-9a-f]{64})$/.exec(pathname) ?? [];
    const fault = digest === undefined ? undefined : this.fault(digest);
    if (fault === "held") return void this.#held.add(answer);
    this.#pass(asked, answer, digest, fault?.cutAfter);
  }

  /** Answers like the deployment does: the password is the token. */
  #giveToken(asked: IncomingMessage, answer: ServerResponse): void {
    const [, encoded = ""] = /^Basic (.+)$/.exec(asked.headers.authorization ?? "") ?? [];
    const [, password] = Buffer.from(encoded, "base64").toString().split(":");
    if (password !== this.grant) return refuse(answer);
    answer.setHeader("content-type", "application/json");
    answer.end(JSON.stringify({ token: password, access_token: password, expires_in: 300 }));
  }

  #challenge(answer: ServerResponse): void {
    const realm = `Bearer realm="${this.url}/v2/token",service="auspex"`;
    answer.setHeader("www-authenticate", realm);
    refuse(answer);
  }

  #pass(
    asked: IncomingMessage,
    answer: ServerResponse,
    digest: string | undefined,
    cutAfter: number | undefined,
  ): void {
    const [, from = "0"] = /^bytes=(\d+)-/.exec(asked.headers.range ?? "") ?? [];
    const seen: BlobRequest = { digest: digest ?? "", from: Number(from), bytes: 0 };
    if (digest !== undefined && asked.method === "GET") this.blobs.push(seen);
    const { authorization: _, ...headers } = asked.headers;
    const target = `http://${this.#registry.host}${asked.url}`;
    const onward = request(target, { method: asked.method, headers }, (given) => {
      answer.writeHead(given.statusCode ?? 500, given.headers);
      given.on("data", (chunk: Buffer) => {
        const left = cutAfter === undefined ? chunk.length : cutAfter - seen.bytes;
        const sent = chunk.subarray(0, left);
        seen.bytes += sent.length;
        answer.write(sent, () => {
          if (left < chunk.length) answer.destroy();
        });
        if (left < chunk.length) given.destroy();
      });
      given.on("end", () => answer.end());
    });
    onward.on("error", () => answer.destroy());
    asked.pipe(onward);
  }
}

function refuse(answer: ServerResponse): void {
  answer.writeHead(401, { "content-type": "application/json" });
  answer.end(JSON.stringify({ errors: [{ code: "UNAUTHORIZED", message: "refused" }] }));
}
