/**
 * The egress proxy for containers whose version lists the hosts that they may reach: HTTP CONNECT
 * on the callback server. The firewall blocks everything else for such a container, DNS included,
 * so it need not be trusted: the runner resolves the name and connects to public addresses. Hosts
 * that share an address with a listed one, such as sites behind one CDN, cannot be told apart.
 */
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { listsHost } from "../../../src/protocol/egress.ts";
import {
  AddressPolicy,
  permittedLookup,
  type Resolve,
  resolveAll,
} from "../files/public-address.ts";
import type { CallbackServer, Endpoint } from "../lib/callback-server.ts";

/** Timeouts of a tunnel: for connecting to its host, and while no byte passes in either direction. */
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 600_000;
/** The limit of concurrent connections of one container. */
const MAX_CONNECTIONS = 128;

const AUTHORITY = /^([a-z0-9.-]+?)\.?:(\d{1,5})$/;

export interface TunnelOptions {
  /** False if the operator allows no egress. */
  allowed?: boolean;
  resolve?: Resolve;
  permits?: (address: string) => boolean;
}

export class Tunnels {
  readonly #server: CallbackServer;
  readonly #options: TunnelOptions;

  constructor(server: CallbackServer, options: TunnelOptions = {}) {
    this.#server = server;
    this.#options = options;
  }

  /**
   * Opens a proxy for one container; closing it cuts its connections.
   * @param url of an adopted container
   */
  open(hosts: readonly string[], url?: string): Endpoint {
    const sockets = new Set<Socket>();
    const track = (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    };
    const endpoint = this.#server.openTunnel((request, socket, head) => {
      // Each tunnel has two sockets.
      if (sockets.size >= 2 * MAX_CONNECTIONS)
        return refuseTunnel(socket, 503, `more than ${MAX_CONNECTIONS} connections`);
      track(socket);
      this.#through(hosts, request, socket, head, track);
    }, url);
    return {
      ...endpoint,
      close: () => {
        endpoint.close();
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  #through(
    hosts: readonly string[],
    { url = "" }: IncomingMessage,
    socket: Socket,
    head: Buffer,
    track: (socket: Socket) => void,
  ): void {
    const [, host = "", port = ""] = AUTHORITY.exec(url.toLowerCase()) ?? [];
    if (this.#options.allowed === false)
      return refuseTunnel(socket, 403, "egress is disabled on this runner");
    if (!listsHost(hosts, host, Number(port))) {
      return refuseTunnel(socket, 403, `${host}:${port} is not in the egress list of this version`);
    }
    const { resolve: lookupAll = resolveAll, permits = isPublic } = this.#options;
    const refusal = () => new Error("no public address");
    const lookup = permittedLookup(lookupAll, permits, refusal);
    const upstream = connect({ host, port: Number(port), lookup, allowHalfOpen: true });
    track(upstream);
    const connectTimer = setTimeout(
      () => upstream.destroy(new Error("connect timeout")),
      CONNECT_TIMEOUT_MS,
    );
    const fail = () =>
      refuseTunnel(socket, 502, `${host} has no public IP address or does not respond`);
    upstream.on("error", fail);
    socket.on("error", () => upstream.destroy());
    upstream.on("close", () => clearTimeout(connectTimer));
    upstream.on("connect", () => {
      clearTimeout(connectTimer);
      upstream.off("error", fail);
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      const end = () => {
        socket.destroy();
        upstream.destroy();
      };
      upstream.setTimeout(IDLE_TIMEOUT_MS, end);
      const ended = (error: unknown) => error && end();
      pipeline(socket, upstream, ended);
      pipeline(upstream, socket, ended);
    });
  }
}

const reach = new AddressPolicy([]);
const isPublic = (address: string): boolean => reach.permits(address, "https:");

/** The reason is also in the status line: most programs print nothing else of a rejected tunnel. */
export function refuseTunnel(socket: Socket, status: number, why: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  socket.on("error", () => {});
  const body = `${why}\n`;
  const head = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 ${status} ${why}\r\n${head}\r\nconnection: close\r\n\r\n${body}`);
}

/** The variables by which programs find the proxy. Calls to the runner itself bypass it. */
export const proxyVariables = (url: string, direct: string): Record<string, string> => ({
  HTTPS_PROXY: url,
  https_proxy: url,
  NO_PROXY: `localhost,127.0.0.1,${direct}`,
  no_proxy: `localhost,127.0.0.1,${direct}`,
  NODE_USE_ENV_PROXY: "1",
});
