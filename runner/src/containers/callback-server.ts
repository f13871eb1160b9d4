/**
 * What containers reach of the runner: one HTTP server, and on it one unguessable path for each
 * thing that one of them may do. Nobody finds a path that was not given to it.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { internal } from "./failure.ts";

/**
 * A container keeps a connection or two for each of its runs. All of the process engine come from
 * one address; in Docker each has its own, and what it takes there leaves enough for the others.
 */
const LIMITS = { connections: 4_096, perAddress: 512 };
/** A container that dribbles its headers is cut off; how long a body may take, its handler says. */
const HEADERS_TIMEOUT_MS = 60_000;
const PATH = /^\/([\w-]{24})(\/.*)?$/;

/**
 * Answers one request. `rest` is what follows the path that was given out, from its slash on;
 * what it throws ends the connection.
 */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  rest: string,
) => Promise<void>;

/** Answers one CONNECT, whose connection is a tunnel's then, or nobody's. */
export type TunnelHandler = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export interface Endpoint {
  /** Without a slash at its end. */
  url: string;
  close(): void;
}

export class CallbackServer {
  readonly #handlers = new Map<string, Handler>();
  readonly #tunnels = new Map<string, TunnelHandler>();
  readonly #server = createServer(
    { requestTimeout: 0, headersTimeout: HEADERS_TIMEOUT_MS },
    (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    },
  );
  #base: URL | undefined;

  constructor({ connections, perAddress } = LIMITS) {
    this.#server.maxConnections = connections;
    const counts = new Map<string | undefined, number>();
    this.#server.on("connect", (request, socket, head) => {
      const handler = this.#tunnels.get(proxyUser(request.headers["proxy-authorization"]));
      if (handler && socket instanceof Socket) handler(request, socket, head);
      else socket.destroy();
    });
    this.#server.on("connection", (socket) => {
      const { remoteAddress: address } = socket;
      const count = (counts.get(address) ?? 0) + 1;
      if (count > perAddress) return socket.destroy();
      counts.set(address, count);
      socket.on("close", () => {
        const left = (counts.get(address) ?? 1) - 1;
        if (left === 0) counts.delete(address);
        else counts.set(address, left);
      });
    });
  }

  async listen(host: string): Promise<number> {
    this.#server.listen(0, host);
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw internal("no port to listen on");
    return address.port;
  }

  /** Tells how containers reach the server: only the engine knows. */
  setBaseUrl(base: URL): void {
    this.#base = base;
  }

  open(handler: Handler): Endpoint {
    if (!this.#base) throw internal("the door for containers is not open");
    const name = randomBytes(18).toString("base64url");
    this.#handlers.set(name, handler);
    return { url: new URL(name, this.#base).href, close: () => this.#handlers.delete(name) };
  }

  /** Its URL is a proxy's, for the one that it is given to. */
  openTunnel(handler: TunnelHandler): Endpoint {
    if (!this.#base) throw internal("the door for containers is not open");
    const name = randomBytes(18).toString("base64url");
    this.#tunnels.set(name, handler);
    const url = new URL(this.#base);
    // Some programs take no name without a password.
    [url.username, url.password] = [name, "x"];
    return { url: url.href.replace(/\/$/, ""), close: () => this.#tunnels.delete(name) };
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = "", rest = ""] = PATH.exec(request.url ?? "") ?? [];
    const handler = this.#handlers.get(name);
    if (handler) return handler(request, response, rest);
    refuse(request, response, 404);
  }
}

function proxyUser(authorization = ""): string {
  const [, encoded = ""] = /^basic +(\S+)$/i.exec(authorization) ?? [];
  return Buffer.from(encoded, "base64").toString().split(":")[0] ?? "";
}

/** Not read, so that nobody can keep the runner busy: the connection is of no more use. */
export function refuse(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close" }).end(() => request.destroy());
}
