/**
 * The way out for containers whose version lists the hosts that they may reach: a proxy (CONNECT)
 * on the runner's server. The firewall lets such a container reach nothing else, not even a resolver,
 * so that it need not be trusted: the runner looks the name up, and connects to public addresses.
 * Whoever shares an address with a listed host, as sites behind one CDN do, cannot be told apart.
 */
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { listsHost } from "../../../src/domain/runners/egress.ts";
import { AddressPolicy } from "../files/public-address.ts";
import { permittedLookup, type Resolve, resolveAll } from "../files/public-lookup.ts";
import type { CallbackServer, Endpoint } from "./callback-server.ts";

/** Milliseconds: until a host answers, and without a byte in either direction. */
const CONNECT_TIMEOUT_MS = 10_000;
const IDLE_TIMEOUT_MS = 600_000;
/** Of one container, at a time. */
const MAX_CONNECTIONS = 128;

const AUTHORITY = /^([a-z0-9.-]+?)\.?:(\d{1,5})$/;

export interface TunnelOptions {
  /** False: the operator lets no container out. */
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

  /** One container's: what is open when it is closed is cut. */
  open(hosts: readonly string[]): Endpoint {
    const sockets = new Set<Socket>();
    const track = (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    };
    const { url, close } = this.#server.openTunnel((request, socket, head) => {
      // Two of them make a tunnel.
      if (sockets.size >= 2 * MAX_CONNECTIONS)
        return refuseTunnel(socket, 503, `at most ${MAX_CONNECTIONS} connections`);
      track(socket);
      this.#through(hosts, request, socket, head, track);
    });
    return {
      url,
      close: () => {
        close();
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
      return refuseTunnel(socket, 403, "this runner lets nothing out");
    if (!listsHost(hosts, host, Number(port))) {
      return refuseTunnel(socket, 403, `the egress of this version does not list ${host}:${port}`);
    }
    const { resolve: lookupAll = resolveAll, permits = isPublic } = this.#options;
    const refusal = () => new Error("no public address");
    const lookup = permittedLookup(lookupAll, permits, refusal);
    const upstream = connect({ host, port: Number(port), lookup, allowHalfOpen: true });
    track(upstream);
    const connectTimer = setTimeout(() => upstream.destroy(new Error("late")), CONNECT_TIMEOUT_MS);
    const fail = () =>
      refuseTunnel(socket, 502, `${host} has no public address or does not answer`);
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

/** The reason is in the status line too: of a refused tunnel most programs print nothing else. */
export function refuseTunnel(socket: Socket, status: number, why: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  socket.on("error", () => {});
  const body = `${why}\n`;
  const head = `content-type: text/plain\r\ncontent-length: ${Buffer.byteLength(body)}`;
  socket.end(`HTTP/1.1 ${status} ${why}\r\n${head}\r\nconnection: close\r\n\r\n${body}`);
}

/** By what programs find the way; what is meant for the runner itself goes there directly. */
export const proxyVariables = (url: string, direct: string): Record<string, string> => ({
  HTTPS_PROXY: url,
  https_proxy: url,
  NO_PROXY: `localhost,127.0.0.1,${direct}`,
  no_proxy: `localhost,127.0.0.1,${direct}`,
  NODE_USE_ENV_PROXY: "1",
});
