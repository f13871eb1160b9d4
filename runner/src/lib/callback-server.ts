/**
 * The HTTP server that containers call: an unguessable path for each thing that a container may do.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { internal } from "../../../src/run/failure.ts";

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
/**
 * Clients close an idle connection first: most within 90 s. By default it is closed after 6 s, which is
 * when a model that has worked for as long sends its next file: that was lost, and the run with it.
 */
const KEEP_ALIVE_MS = 10 * 60_000;
const PATH = /^\/([\da-f-]{36})(\/.*)?$/;

/**
 * Handles one request. `rest` is the path after the assigned one and starts with a slash. If the handler
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
  /** The URL without a trailing slash. */
  url: string;
  close(): void;
}

export class CallbackServer {
  readonly #handlers = new Map<string, Handler>();
  readonly #tunnels = new Map<string, TunnelHandler>();
  readonly #limits: typeof LIMITS;
  readonly #connections = new Map<string | undefined, number>();
  #server: Server | undefined;
  #base: URL | undefined;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * @param port of the process before this one, which its containers call
   * @returns the port, which is another one if a program has taken that port
   */
  async listen(host: string, port = 0): Promise<number> {
    const server = this.#make();
    server.listen(port, host);
    try {
      await once(server, "listening");
    } catch (error) {
      const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      if (port === 0 || !isTaken) throw error;
      return this.listen(host);
    }
    this.#server = server;
    return this.port;
  }

  get port(): number {
    const address = this.#server?.address();
    if (typeof address === "object" && address !== null) return address.port;
    throw internal("the callback server is not open");
  }

  /** Sets the URL by which containers reach the server, which only the engine knows. */
  setBaseUrl(base: URL): void {
    this.#base = base;
  }

  /** @param url of an adopted container */
  open(handler: Handler, url?: string): Endpoint {
    if (!this.#base) throw internal("the callback server is not open");
    const name = url === undefined ? randomUUID() : new URL(url).pathname.slice(1);
    this.#handlers.set(name, handler);
    return { url: url ?? new URL(name, this.#base).href, close: () => this.#handlers.delete(name) };
  }

  /** Opens a proxy URL for one container. @param opened of an adopted container */
  openTunnel(handler: TunnelHandler, opened?: string): Endpoint {
    if (!this.#base) throw internal("the callback server is not open");
    const name = opened === undefined ? randomUUID() : new URL(opened).username;
    this.#tunnels.set(name, handler);
    const url = new URL(this.#base);
    // Some programs reject a user name without a password.
    [url.username, url.password] = [name, "x"];
    return {
      url: opened ?? url.href.replace(/\/$/, ""),
      close: () => this.#tunnels.delete(name),
    };
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (!server?.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  }

  #make(): Server {
    const server = createServer(
      {
        requestTimeout: 0,
        headersTimeout: HEADERS_TIMEOUT_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
      },
      (request, response) => {
        this.#answer(request, response).catch(() => response.destroy());
      },
    );
    server.maxConnections = this.#limits.connections;
    server.on("connect", (request, socket, head) => {
      if (socket instanceof Socket) this.#tunnel(request, socket, head);
      else socket.destroy();
    });
    return server.on("connection", (socket) => this.#count(socket));
  }

  #tunnel(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const handler = this.#tunnels.get(proxyUser(request.headers["proxy-authorization"]));
    if (handler) handler(request, socket, head);
    else socket.destroy();
  }

  #count(socket: Socket): void {
    const { remoteAddress: address } = socket;
    const count = (this.#connections.get(address) ?? 0) + 1;
    if (count > this.#limits.perAddress) return void socket.destroy();
    this.#connections.set(address, count);
    socket.on("close", () => {
      const left = (this.#connections.get(address) ?? 1) - 1;
      if (left === 0) this.#connections.delete(address);
      else this.#connections.set(address, left);
    });
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
