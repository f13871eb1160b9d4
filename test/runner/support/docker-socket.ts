/** A socket before Docker's own, behind which Docker can go away like at a restart. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { DEFAULT_SOCKET } from "../../../runner/src/engines/options.ts";

export class DockerSocket {
  readonly path: string;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  static async open(path: string): Promise<DockerSocket> {
    const socket = new DockerSocket(path);
    await socket.comeBack();
    return socket;
  }

  private constructor(path: string) {
    this.path = path;
  }

  async comeBack(): Promise<void> {
    this.#server = createServer((near) => {
      const far = connect(DEFAULT_SOCKET);
      near.pipe(far).pipe(near);
      for (const one of [near, far]) {
        this.#sockets.add(one);
        const other = one === near ? far : near;
        one
          .on("error", () => {})
          .on("close", () => {
            this.#sockets.delete(one);
            other.destroy();
          });
      }
    }).listen(this.path);
    await once(this.#server, "listening");
  }

  /** Breaks every connection, and removes the socket. */
  goAway(): void {
    this.#server?.close();
    for (const one of this.#sockets) one.destroy();
  }
}
