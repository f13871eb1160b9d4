/** Images of the deployment's own registry, over real Docker and a registry that cuts connections. */

import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { DockerOptions } from "../../../runner/src/engines/options.ts";
import type { Executor } from "../../../runner/src/jobs/executor.ts";
import type { Image } from "../../../src/protocol/runner.ts";
import { buildExample, docker, type Registry } from "../../docker/registry.ts";
import { dockerIsUp, signals } from "../support/containers.ts";
import { DockerBox, recordedLog } from "../support/docker-box.ts";
import { DockerSocket } from "../support/docker-socket.ts";

/** A request for a blob, as it went. */
interface BlobRequest {
  digest: string;
  /** The first byte of its `Range` header. */
  from: number;
  /** The number of bytes that were sent. */
  bytes: number;
}

/** The fault of a request for a blob. */
type Fault = { cutAfter: number } | "held" | undefined;

interface OwnImage extends Image {
  grant: string;
  /** Digests of the image's layers, the lowest first. */
  layers: string[];
}

class OwnRegistryProxy {
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

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Bytes of each layer, which are random like weights, so that compression does not shrink them. */
const LAYER = 6_000_000;
const layer = (name: string) => `RUN head -c ${LAYER} /dev/urandom > /${name}`;

describe.runIf(dockerIsUp)("an image of the deployment's own registry", () => {
  let box: DockerBox;
  let registry: OwnRegistryProxy;
  let executor: Executor;
  let log: ReturnType<typeof recordedLog>;
  let own: OwnImage;

  const open = async (more: Partial<DockerOptions> = {}) => {
    const state = join(box.folder, "state");
    executor = box.executor({ deployment: registry.url, state, ...more }, log);
    await executor.open();
  };
  const run = (image: OwnImage, stop = signals()) => {
    box.images.own = image;
    return box.run(executor, "own", { name: "Ada" }, {}, stop);
  };
  const localName = () => `${registry.host}/${own.repository}@${own.digest}`;
  /** Returns how many bytes of each layer were sent. */
  const fetched = () =>
    own.layers.map((digest) =>
      registry.blobs
        .filter((one) => one.digest === digest)
        .reduce((sum, one) => sum + one.bytes, 0),
    );
  const keptImages = async () => {
    const filter = `label=auspex.runner.kept=${box.name}`;
    return (await docker("images", "-q", "--filter", filter)).split("\n").filter(Boolean);
  };

  beforeAll(async () => {
    box = await DockerBox.start();
    registry = await OwnRegistryProxy.start(box.registry);
    await buildExample("hello");
    own = await registry.push("auspex-test/hello", [layer("a"), layer("b"), layer("c")]);
  }, 120_000);

  afterAll(async () => {
    await registry.stop();
    await docker("image", "rm", "--force", "auspex-test/hello");
    await box.close();
  });

  beforeEach(async () => {
    log = recordedLog();
    registry.recover();
    registry.blobs.length = 0;
    // A runner without state knows no images yet.
    rmSync(join(box.folder, "state"), { recursive: true, force: true });
    if (await docker("images", "--quiet", localName())) await docker("image", "rm", localName());
    await open();
  });

  afterEach(async () => {
    await executor.close();
    expect(await keptImages()).toEqual([]);
    expect(JSON.stringify(log.lines)).not.toContain(registry.grant);
  });

  it("an own image is pulled with the job's grant, without a login, and named without a host", async () => {
    const { reporter, finish } = run(own);
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(reporter.of("output")).toEqual(["Hello, Ada!"]);
    const told = `${own.repository}@${own.digest}`;
    await vi.waitFor(() => expect(executor.images()).toContain(told));
    expect(executor.images()).not.toContain(localName());
    const state = readFileSync(join(box.folder, "state", "images.json"), "utf8");
    expect(Object.keys(JSON.parse(state))).toContain(localName());
    expect(state).not.toContain(registry.grant);
    // An image that is present needs no grant.
    await executor.close();
    await open();
    const { grant: _, ...bare } = own;
    box.images.own = bare;
    registry.blobs.length = 0;
    expect(await box.run(executor, "own").finish).toMatchObject({ status: "succeeded" });
    expect(registry.blobs).toEqual([]);
  });

  it("a grant that is refused is reported as an internal failure", async () => {
    const refused = await run({ ...own, grant: "an-old-grant" }).finish;
    expect(refused).toMatchObject({ status: "failed", error: { source: "internal" } });
    expect(refused.error?.message).toMatch(
      /^test\/model@sha256:\w+ cannot be pulled: the runner's grant to pull it has expired or was revoked/,
    );
    expect(refused.error?.message).not.toContain("an-old-grant");
    expect(JSON.stringify(log.lines)).not.toContain("an-old-grant");
    const gone = { ...own, digest: `sha256:${"0".repeat(64)}` };
    const missing = await run(gone).finish;
    expect(missing.error).toMatchObject({
      source: "external",
      message: expect.stringContaining("the deployment's registry no longer has it"),
    });
  });

  it("an own image goes on with a layer whose connection was cut", async () => {
    const top = own.layers.at(-1);
    let cuts = 0;
    registry.fault = (digest) =>
      digest === top && cuts++ === 0 ? { cutAfter: LAYER / 2 } : undefined;
    expect(await run(own).finish).toMatchObject({ status: "succeeded" });
    const requests = registry.blobs.filter(({ digest }) => digest === top);
    expect(requests).toHaveLength(2);
    expect(requests[1]?.from).toBeGreaterThanOrEqual(LAYER / 2);
    // Each byte was sent only once.
    const sizes = fetched();
    expect(sizes.at(-1)).toBeLessThan(LAYER * 1.01);
    expect(sizes.at(-2)).toBeLessThan(LAYER * 1.01);
  });

  /** Starts a pull whose topmost layer is held back until all lower layers are stored. */
  async function pulledButTheTop(image: OwnImage) {
    const top = own.layers.at(-1);
    registry.fault = (digest) => (digest === top ? "held" : undefined);
    const stop = signals();
    const running = run(image, stop);
    await vi.waitFor(async () => {
      // Older partial images are removed only after a larger one is stored.
      const [kept = "none", ...older] = await keptImages();
      expect(older).toEqual([]);
      const layers = await docker("image", "inspect", "--format", "{{len .RootFS.Layers}}", kept);
      expect(Number(layers)).toBe(own.layers.length - 1);
    }, 30_000);
    return { ...running, stop };
  }
  /** Expects that lower layers were fetched once; Docker itself repeats the request for the topmost layer. */
  const expectLowerOnce = () => {
    for (const bytes of fetched().slice(-3, -1)) {
      expect(bytes).toBeGreaterThan(LAYER);
      expect(bytes).toBeLessThan(LAYER * 1.01);
    }
  };

  it("an own image is not fetched again from the start when Docker restarts during the pull", async () => {
    await executor.close();
    const socket = await DockerSocket.open(join(box.folder, "docker.sock"));
    await open({ socket: socket.path });
    const { finish } = await pulledButTheTop(own);
    socket.goAway();
    registry.recover();
    await socket.comeBack();
    expect(await finish).toMatchObject({ status: "succeeded" });
    expect(log.lines.join()).toContain("a pull was interrupted, retrying");
    expectLowerOnce();
    await executor.close();
    socket.goAway();
    await open();
  });

  it("an own image is not fetched again from the start by the next process of a runner", async () => {
    const { finish, stop } = await pulledButTheTop(own);
    stop.abortAbandon();
    await finish;
    await executor.close();
    registry.recover();
    await open();
    expect(await run(own).finish).toMatchObject({ status: "succeeded" });
    expectLowerOnce();
  });

  it("partial images are removed when the disk is full, but not while they are pulled", async () => {
    await executor.close();
    await open({ free_bytes: 2 ** 60, watch_interval_ms: 20 });
    const { finish, stop } = await pulledButTheTop(own);
    await vi.waitFor(() => expect(log.lines.join()).toContain("nothing left"), 30_000);
    expect(await keptImages()).toHaveLength(1);
    stop.abortAbandon();
    await finish;
    await vi.waitFor(
      () => expect(log.lines.join()).toMatch(/removed image .*\(layers of a broken pull\)/),
      30_000,
    );
    registry.recover();
  });
});
