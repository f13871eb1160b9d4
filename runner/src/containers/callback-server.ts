/**
 * The HTTP server that containers call: an unguessable path for each thing that a container may do.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Socket } from "node:net";
import { settlesWithin } from "../../../src/lib/timeout.ts";
import { internal } from "./failure.ts";
import { type Address, forwardRequest, forwardTunnel } from "./forward.ts";

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
/** A container may be at an upload, or hear from elsewhere through its proxy. */
const SILENCE_MS = 30_000;
const DRAIN_MS = 600_000;
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

/** A process that has taken over. */
export interface CallbackSuccessor {
  readonly port: number;
  readonly isThere: boolean;
}

export class CallbackServer {
  readonly #handlers = new Map<string, Handler>();
  readonly #tunnels = new Map<string, TunnelHandler>();
  readonly #servers: Server[] = [];
  readonly #limits: typeof LIMITS;
  readonly #sockets = new Set<Socket>();
  readonly #connections = new Map<string | undefined, number>();
  #base: URL | undefined;
  #host = "";
  /** It answers what is not known here, on the same host. */
  #successor: CallbackSuccessor | undefined;

  constructor(limits = LIMITS) {
    this.#limits = limits;
  }

  /** @param port of a process before this one, whose containers call it; any by default */
  async listen(host: string, port = 0): Promise<number> {
    const server = this.#make();
    server.listen(port, host);
    await once(server, "listening");
    this.#servers.push(server);
    this.#host = host;
    const own = portOf(server);
    if (own === undefined) throw internal("the callback server has no port");
    return own;
  }

  /** Also listens where a process before this one did. */
  async listenAt(port: number): Promise<void> {
    await this.listen(this.#host, port);
  }

  get ports(): number[] {
    return this.#servers.flatMap((server) => portOf(server) ?? []);
  }

  /** Sets the URL by which containers reach the server, which only the engine knows. */
  setBaseUrl(base: URL): void {
    this.#base = base;
  }

  /** @param url that a process before this one has opened */
  open(handler: Handler, url?: string): Endpoint {
    if (!this.#base) throw internal("the callback server is not open");
    const name = url === undefined ? randomUUID() : new URL(url).pathname.slice(1);
    this.#handlers.set(name, handler);
    return { url: url ?? new URL(name, this.#base).href, close: () => this.#handlers.delete(name) };
  }

  /** Opens a proxy URL for one container. @param opened that a process before this one has opened */
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

  /** From now on the process that takes over is asked for what is not known here, while it is there. */
  forwardTo(successor: CallbackSuccessor): void {
    this.#successor = successor;
  }

  /**
   * Listens no more, which has happened when it returns.
   * @returns what resolves when the connections that were open have ended, or have long been silent
   */
  drain(): Promise<unknown> {
    const closed = this.#servers.map((server) => once(server, "close"));
    for (const server of this.#servers) {
      server.close();
      server.closeIdleConnections();
    }
    for (const socket of this.#sockets) socket.setTimeout(SILENCE_MS, () => socket.destroy());
    return settlesWithin(Promise.all(closed), DRAIN_MS);
  }

  async close(): Promise<void> {
    for (const server of this.#servers.splice(0)) {
      const closed = server.listening ? once(server, "close") : undefined;
      server.close();
      server.closeAllConnections();
      await closed;
    }
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
    else if (this.#elsewhere) forwardTunnel(this.#elsewhere, request, socket, head);
    else socket.destroy();
  }

  #count(socket: Socket): void {
    const { remoteAddress: address } = socket;
    const count = (this.#connections.get(address) ?? 0) + 1;
    // What a process before this one passes on comes from this machine: it has counted that.
    const isOwn = address === this.#host;
    if (count > this.#limits.perAddress && !isOwn) return void socket.destroy();
    this.#connections.set(address, count);
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      const left = (this.#connections.get(address) ?? 1) - 1;
      if (left === 0) this.#connections.delete(address);
      else this.#connections.set(address, left);
    });
  }

  /** Not once it has gone: any program may have its port by then. */
  get #elsewhere(): Address | undefined {
    const { port, isThere } = this.#successor ?? {};
    return isThere && port !== undefined ? { host: this.#host, port } : undefined;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = "", rest = ""] = PATH.exec(request.url ?? "") ?? [];
    const handler = this.#handlers.get(name);
    if (handler) return handler(request, response, rest);
    if (this.#elsewhere) return forwardRequest(this.#elsewhere, request, response);
    refuse(request, response, 404);
  }
}

function portOf(server: Server): number | undefined {
  const address = server.address();
  return address === null || typeof address === "string" ? undefined : address.port;
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
