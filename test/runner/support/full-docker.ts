/**
 * A Docker with images and a disk of a fixed size: it answers the requests of a pull, and reports a full disk
 * like Docker 20.10. A real Docker would need a disk to be mounted.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";

export class FullDocker {
  readonly socket: string;
  /** Bytes of each image, by `repository@digest`. */
  readonly images = new Map<string, number>();
  pulls = 0;
  /** Called when Docker has an image, before the pull is answered. */
  onPulled: () => void | Promise<void> = () => {};
  readonly #sizes: Record<string, number>;
  readonly #total: number;
  readonly #server: Server;

  /** @param sizes of the images that can be pulled */
  static async start(folder: string, total: number, sizes: Record<string, number>) {
    const docker = new FullDocker(folder, total, sizes);
    docker.#server.listen(docker.socket);
    await once(docker.#server, "listening");
    return docker;
  }

  private constructor(folder: string, total: number, sizes: Record<string, number>) {
    this.socket = join(folder, "docker.sock");
    this.#sizes = sizes;
    this.#total = total;
    this.#server = createServer((asked, answer) => void this.#answer(asked, answer));
  }

  get free(): number {
    return this.#total - [...this.images.values()].reduce((sum, size) => sum + size, 0);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer({ method, url = "" }: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(url, "http://docker");
    const send = (status: number, body: unknown) => {
      answer.writeHead(status, { "content-type": "application/json" });
      answer.end(`${JSON.stringify(body)}\r\n`);
    };
    if (pathname === "/containers/json") return send(200, []);
    if (pathname === "/images/json") {
      return send(
        200,
        [...this.images].map(([name, Size]) => ({ Id: name, Size, RepoDigests: [name] })),
      );
    }
    if (pathname === "/images/create") {
      const [name, tag] = [searchParams.get("fromImage"), searchParams.get("tag")];
      const pulled = this.#pull(`${name}@${tag}`);
      if (this.images.has(`${name}@${tag}`)) await this.onPulled();
      return send(200, pulled);
    }
    const [, name = ""] = /^\/images\/(.+?)(?:\/json)?$/.exec(decodeURIComponent(pathname)) ?? [];
    const size = this.images.get(name);
    if (size === undefined) return send(404, { message: `No such image: ${name}` });
    if (method === "DELETE") this.images.delete(name);
    send(200, { Id: name, Size: size, RepoDigests: [name] });
  }

  /** Returns the progress of the pull, which ends with its error. */
  #pull(name: string): object {
    this.pulls++;
    const size = this.#sizes[name] ?? 0;
    if (size > this.free) {
      const message = "write /var/lib/docker/tmp/GetImageBlob318450983: no space left on device";
      return { errorDetail: { message }, error: message };
    }
    this.images.set(name, size);
    return { status: `Status: Downloaded newer image for ${name}` };
  }
}
