/** A deployment on loopback that has weights, and can be made to misbehave. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync, zstdCompressSync } from "node:zlib";
import type { Image } from "../../../src/protocol/runner.ts";
import type { JobWeight } from "../../../src/protocol/weights.ts";
import { type TarEntry, tar } from "./tar.ts";

const MODEL = "0193b0f0-0000-7000-8000-000000000001";
export const GRANT = "the-grant";

/** The image of the jobs that use the weights. */
export const IMAGE: Image = {
  repository: `auspex/models/${MODEL}`,
  digest: `sha256:${"a".repeat(64)}`,
  grant: GRANT,
};

export const digestOf = (bytes: Uint8Array | string) =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** Returns bytes whose neighbours differ, and that depend on the seed. */
export function noise(size: number, seed = 1): Buffer {
  const block = createHash("shake256", { outputLength: Math.min(size, 1_000_003) });
  const pattern = block.update(String(seed)).digest();
  const bytes = Buffer.alloc(size);
  for (let at = 0; at < size; at += pattern.length) pattern.copy(bytes, at);
  return bytes;
}

/** The failure of a request: a status, or the number of bytes before the connection is cut. */
interface Trouble {
  status?: number;
  cutAfter?: number;
  /** Answers in any way. */
  answer?: (response: ServerResponse) => void;
}

export class WeightServer {
  readonly files = new Map<string, Buffer>();
  /** The repository of the images with the weights. */
  repository = IMAGE.repository;
  /** Path and range of each request. */
  readonly requests: string[] = [];
  /** The number of bytes of files that were sent. */
  sent = 0;
  /** The greatest number of simultaneous requests. */
  most = 0;
  trouble: (request: IncomingMessage, count: number) => Trouble | undefined = () => undefined;
  /** A promise that answers wait for. */
  held: Promise<void> | undefined;
  #open = 0;
  readonly #http = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  static async start(): Promise<WeightServer> {
    const server = new WeightServer();
    server.#http.listen(0, "127.0.0.1");
    await once(server.#http, "listening");
    return server;
  }

  get url(): string {
    const { port } = this.#http.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }

  /** Returns a file of an upload, as a job has it. */
  upload(target: string, bytes: Buffer, n = 1): JobWeight {
    const id = `0193b0f0-0000-7000-8000-${String(n).padStart(12, "0")}`;
    const path = `/v1/files/${id}/weights.bin`;
    this.files.set(path, bytes);
    return { kind: "file", target, id, url: `${this.url}${path}?signature=s`, size: bytes.length };
  }

  /** Returns a weight as Cog packs it. */
  cog(target: string, layers: readonly Layer[], more: CogOptions = {}): JobWeight {
    const packed = layers.map(packLayer);
    const files = packed.flatMap(({ digest, files }) =>
      files.map((file) => ({ ...file, layer: digest })),
    );
    for (const { bytes, digest } of packed) this.#put("blobs", bytes, digest);
    const configuration = { name: "base", target, files, ...more.configuration };
    const config = Buffer.from(JSON.stringify(configuration));
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        artifactType: "application/vnd.cog.weight.v1",
        config: {
          mediaType: "application/vnd.cog.weight.config.v1+json",
          digest: this.#put("blobs", config),
          size: config.length,
        },
        layers: packed.map(({ mediaType, digest, bytes }) => {
          return { mediaType, digest, size: bytes.length };
        }),
        ...more.manifest,
      }),
    );
    return { kind: "oci", name: "base", target, manifest: this.#put("manifests", manifest) };
  }

  #put(kind: "blobs" | "manifests", bytes: Buffer, digest = digestOf(bytes)): string {
    this.files.set(`/v2/${this.repository}/${kind}/${digest}`, bytes);
    return digest;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.url);
    const { range = "", authorization } = request.headers;
    this.requests.push(`${pathname} ${range}`.trim());
    const trouble = this.trouble(request, this.requests.length);
    this.#open++;
    this.most = Math.max(this.most, this.#open);
    response.on("close", () => this.#open--);
    await this.held;
    if (trouble?.answer) return trouble.answer(response);
    const bytes = this.files.get(pathname);
    const isOpen = authorization === `Bearer ${GRANT}` || searchParams.has("signature");
    const status = trouble?.status ?? (isOpen ? (bytes ? 206 : 404) : 401);
    if (status !== 206 || !bytes) {
      response.writeHead(status, { "content-type": "application/problem+json" });
      return void response.end(JSON.stringify({ title: "Trouble", status }));
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
    const first = Number(from ?? 0);
    const last = Math.min(Number(to ?? bytes.length), bytes.length - 1);
    const body = bytes.subarray(first, last + 1);
    response.writeHead(from === undefined ? 200 : 206, {
      "content-length": body.length,
      ...(from !== undefined && { "content-range": `bytes ${first}-${last}/${bytes.length}` }),
    });
    const part = body.subarray(0, trouble?.cutAfter);
    this.sent += part.length;
    if (trouble?.cutAfter === undefined) response.end(body);
    else response.write(part, () => setImmediate(() => response.destroy()));
  }
}

interface CogOptions {
  configuration?: object;
  manifest?: object;
}

export interface Layer {
  compression?: "gzip" | "zstd";
  files: Record<string, Buffer>;
  /** More entries of the archive that are not in the list of files. */
  others?: TarEntry[];
  /** The listed files, if they differ from the archive's. */
  listed?: Record<string, Buffer>;
}

const TAR = "application/vnd.oci.image.layer.v1.tar";

/** Returns the archive of a layer, and the list of its files. */
export function packLayer({ compression, files, others = [], listed }: Layer) {
  const entries = Object.entries(files).map(([name, content]) => ({ name, content }));
  const archive = tar([...others, ...entries]);
  const compress = { gzip: gzipSync, zstd: zstdCompressSync };
  const bytes = compression ? compress[compression](archive) : archive;
  return {
    bytes,
    digest: digestOf(bytes),
    mediaType: compression ? `${TAR}+${compression}` : TAR,
    files: Object.entries(listed ?? files).map(([path, content]) => {
      return { path, size: content.length, digest: digestOf(content) };
    }),
  };
}
