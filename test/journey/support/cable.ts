/** A TCP proxy between a runner and the Worker whose cable can be pulled. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/** `swallow`: connections stand and nothing gets through; `refuse`: every connection is broken. */
type Mode = "pass" | "swallow" | "refuse";

export class Cable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #state: { mode: Mode };

  static async open(target: string): Promise<Cable> {
    const { hostname, port } = new URL(target);
    const sockets = new Set<Socket>();
    const state: { mode: Mode } = { mode: "pass" };
    const server = createServer((near) => {
      if (state.mode === "refuse") return near.destroy();
      const far = connect(Number(port), hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on("data", (chunk: Buffer) => state.mode === "pass" && to.write(chunk));
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          // What ends behind a pulled cable is not seen before it.
          if (state.mode !== "swallow") to.destroy();
        });
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new Cable(`http://127.0.0.1:${address.port}`, server, sockets, state);
  }

  private constructor(url: string, server: Server, sockets: Set<Socket>, state: { mode: Mode }) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
    this.#state = state;
  }

  /** From now on nothing gets through, in either direction, and nobody is told. */
  swallow(): void {
    this.#state.mode = "swallow";
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks all connections, and new ones too. */
  refuse(): void {
    this.#state.mode = "refuse";
    this.cut();
  }

  /** Lets new connections through; what was swallowed is gone, and so are its connections. */
  heal(): void {
    this.#state.mode = "pass";
    this.cut();
  }

  close(): void {
    this.refuse();
    this.#server.close();
  }
}
