/**
 * The way out for containers whose version lists the hosts that they may reach: a proxy (CONNECT)
 * on the runner's door. The firewall lets such a container reach nothing else, not even a resolver,
 * so that it need not be trusted: the runner looks the name up, and connects to public addresses.
 * Whoever shares an address with a listed host, as sites behind one CDN do, cannot be told apart.
 */
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline } from "node:stream";
import { listsHost } from "../../../src/domain/runners/egress.ts";
import { Reach } from "../files/public-address.ts";
import { permittedLookup, type Resolve, resolve } from "../files/public-lookup.ts";
import type { CallbackServer, Opening } from "./callback-server.ts";

/** Milliseconds: until a host answers, and without a byte in either direction. */
const CONNECT_MS = 10_000;
const IDLE_MS = 600_000;
/** Of one container, at a time. */
const MOST = 128;

const AUTHORITY = /^([a-z0-9.-]+?)\.?:(\d{1,5})$/;

export interface TunnelOptions {
  /** False: the operator lets no container out. */
  open?: boolean;
  resolve?: Resolve;
  permits?: (address: string) => boolean;
}

export class Tunnels {
  readonly #door: CallbackServer;
  readonly #options: TunnelOptions;

  constructor(door: CallbackServer, options: TunnelOptions = {}) {
    this.#door = door;
    this.#options = options;
  }

  /** One container's: what is open when it is closed is cut. */
  open(hosts: readonly string[]): Opening {
    const sockets = new Set<Socket>();
    const keep = (socket: Socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    };
    const { url, close } = this.#door.openTunnel((request, socket, head) => {
      // Two of them make a tunnel.
      if (sockets.size >= 2 * MOST) return refuse(socket, 503, `at most ${MOST} connections`);
      keep(socket);
      this.#through(hosts, request, socket, head, keep);
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
    keep: (socket: Socket) => void,
  ): void {
    const [, host = "", port = ""] = AUTHORITY.exec(url.toLowerCase()) ?? [];
    if (this.#options.open === false) return refuse(socket, 403, "this runner lets nothing out");
    if (!listsHost(hosts, host, Number(port))) {
      return refuse(socket, 403, `the egress of this version does not list ${host}:${port}`);
    }
    const { resolve: look = resolve, permits = isPublic } = this.#options;
    const refusal = () => new Error("no public address");
    const lookup = permittedLookup(look, permits, refusal);
    const upstream = connect({ host, port: Number(port), lookup, allowHalfOpen: true });
    keep(upstream);
    const late = setTimeout(() => upstream.destroy(new Error("late")), CONNECT_MS);
    const fail = () => refuse(socket, 502, `${host} has no public address or does not answer`);
    upstream.on("error", fail);
    socket.on("error", () => upstream.destroy());
    upstream.on("close", () => clearTimeout(late));
    upstream.on("connect", () => {
      clearTimeout(late);
      upstream.off("error", fail);
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      const end = () => {
        socket.destroy();
        upstream.destroy();
      };
      upstream.setTimeout(IDLE_MS, end);
      const ended = (error: unknown) => error && end();
      pipeline(socket, upstream, ended);
      pipeline(upstream, socket, ended);
    });
  }
}

const reach = new Reach([]);
const isPublic = (address: string): boolean => reach.permits(address, "https:");

/** The reason is in the status line too: of a refused tunnel most programs print nothing else. */
export function refuse(socket: Socket, status: number, why: string): void {
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
