/**
 * The HTTP server that containers call: an unguessable path for each thing that a container may do.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { internal } from "./failure.ts";

/**
 * A container keeps a connection or two per run. All containers of the process engine share one
 * address; in Docker each has its own, and the limit per address leaves enough connections for the
 * others.
 */
const LIMITS = { connections: 4_096, perAddress: 512 };
/**
 * A container that sends its headers too slowly is disconnected. The limit for a body is up to the
 * handler.
 */
const HEADERS_TIMEOUT_MS = 60_000;
const PATH = /^\/([\da-f-]{36})(\/.*)?$/;

/**
 * Handles one request. `rest` is what follows the assigned path, starting with a slash. If it
 * throws, the connection is closed.
 */
export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  rest: string,
) => Promise<void>;

/** Handles one CONNECT request and takes over its socket. */
export type TunnelHandler = (request: IncomingMessage, socket: Socket, head: Buffer) => void;

export interface Endpoint {
  /** Without a trailing slash. */
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
    if (address === null || typeof address === "string")
      throw internal("the callback server has no port");
    return address.port;
  }

  /** Sets the URL by which containers reach the server, which only the engine knows. */
  setBaseUrl(base: URL): void {
    this.#base = base;
  }

  open(handler: Handler): Endpoint {
    if (!this.#base) throw internal("the callback server is not open");
    const name = randomUUID();
    this.#handlers.set(name, handler);
    return { url: new URL(name, this.#base).href, close: () => this.#handlers.delete(name) };
  }

  /** Opens a proxy URL for one container. */
  openTunnel(handler: TunnelHandler): Endpoint {
    if (!this.#base) throw internal("the callback server is not open");
    const name = randomUUID();
    this.#tunnels.set(name, handler);
    const url = new URL(this.#base);
    // Some programs reject a user name without a password.
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

/**
 * Closes the connection without reading the body, so that a container cannot keep the runner busy.
 */
export function refuse(request: IncomingMessage, response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: "close" }).end(() => request.destroy());
}
