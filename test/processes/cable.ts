/** A cable: a TCP proxy before the Worker that can be pulled, cut or made slow. */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** `swallow`: connections stay open and no bytes get through; `refuse`: every connection is broken. */
type Mode = "pass" | "swallow" | "refuse";

interface State {
  mode: Mode;
  /** The delay of each chunk, ms. */
  delay: number;
  /** Bytes to the Worker until all connections are cut. */
  left: number;
}

export class Cable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #state: State;

  static async open(target: string): Promise<Cable> {
    const { hostname, port } = new URL(target);
    const sockets = new Set<Socket>();
    const state: State = { mode: "pass", delay: 0, left: Number.POSITIVE_INFINITY };
    const server = createServer((near) => {
      if (state.mode === "refuse") return near.destroy();
      const far = connect(Number(port), hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on("data", carry(state, to));
        if (from === near)
          from.on("data", ({ length }) => {
            state.left -= length;
            if (state.left > 0) return;
            state.left = Number.POSITIVE_INFINITY;
            for (const socket of sockets) socket.destroy();
          });
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          // The end of a connection behind a pulled cable is not visible before it.
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

  private constructor(url: string, server: Server, sockets: Set<Socket>, state: State) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
    this.#state = state;
  }

  /** Swallows from now on all bytes, in either direction, without an error. */
  swallow(): void {
    this.#state.mode = "swallow";
  }

  /** Delays from now on each chunk by this time, ms, in its order. */
  delay(ms: number): void {
    this.#state.delay = ms;
  }

  /** Breaks all connections; new ones work. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks all connections as `cut` does, after this many more bytes. */
  cutAfter(bytes: number): void {
    this.#state.left = bytes;
  }

  /** Breaks all connections as `cut` does, with a RST to both sides. */
  reset(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Breaks all connections, and new ones, too. */
  refuse(): void {
    this.#state.mode = "refuse";
    this.cut();
  }

  /** Lets new connections through; swallowed bytes are lost, and so are their connections. */
  heal(): void {
    this.#state.mode = "pass";
    this.#state.delay = 0;
    this.cut();
  }

  close(): void {
    this.refuse();
    this.#server.close();
  }
}

function carry(state: State, to: Socket): (chunk: Buffer) => void {
  let last = Promise.resolve();
  let waiting = 0;
  return (chunk) => {
    if (state.mode !== "pass") return;
    if (state.delay === 0 && waiting === 0) return void to.write(chunk);
    const before = last;
    const late = sleep(state.delay);
    waiting++;
    last = (async () => {
      await Promise.all([late, before]);
      waiting--;
      if (state.mode === "pass" && to.writable) to.write(chunk);
    })();
  };
}
