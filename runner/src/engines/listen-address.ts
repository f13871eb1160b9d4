/** Variables that give the server in a container the address to listen on. */

import { readdir, readFile, readlink } from "node:fs/promises";
import type { ContainerInterface } from "../../../src/protocol/runner.ts";
import type { Listening } from "../interfaces/listen-watch.ts";

/**
 * Cog, TGI and TEI read PORT; llama.cpp reads LLAMA_ARG_…, which is set for OpenAI containers
 * only: a Cog model may start a llama.cpp server of its own on another port.
 */
export function listenVariables(
  kind: ContainerInterface,
  host: string,
  port: number,
): Record<string, string> {
  const [HOST, PORT] = [host, String(port)];
  return kind === "vendora"
    ? { HOST, PORT, LLAMA_ARG_HOST: HOST, LLAMA_ARG_PORT: PORT }
    : { HOST, PORT };
}

/** For a server that should listen there. */
export const listeningOf = (
  kind: ContainerInterface,
  { host, port, addresses }: Omit<Listening, "variables">,
): Listening => ({
  host,
  port,
  variables: Object.keys(listenVariables(kind, host, port)).slice(0, 2),
  addresses,
});

/**
 * The port that an image exposes, if it is exactly one. Servers that take their port as a flag,
 * such as vLLM, have it in the image.
 */
export function exposedPort(ports: Record<string, unknown> | undefined): number | undefined {
  const [port, ...others] = Object.keys(ports ?? {}).flatMap((text) => {
    const [, digits] = /^(\d+)(?:\/tcp)?$/.exec(text) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
  return others.length === 0 ? port : undefined;
}

/** A message names at most this many addresses: a server has two or three. */
const MAX_NAMED = 10;

/** State of a socket that listens. */
const LISTEN = "0A";

/** Docker's own DNS server, in each container of its networks. */
const DOCKER_DNS = /^127\.0\.0\.11:/;

interface ListeningSocket {
  /** `127.0.0.1:8000`, `[::]:8000` */
  address: string;
  inode: string;
}

/** @param text of /proc/net/tcp and /proc/net/tcp6 */
export function listeningSockets(text: string): ListeningSocket[] {
  return text.split("\n").flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    const [host = "", port = ""] = local.split(":");
    if (state !== LISTEN || !/^([0-9A-F]{8}|[0-9A-F]{32})$/.test(host)) return [];
    const address = `${hostOf(host)}:${Number.parseInt(port, 16)}`;
    return DOCKER_DNS.test(address) ? [] : [{ address, inode }];
  });
}

/** Returns each address once. */
export const addressesOf = (sockets: readonly ListeningSocket[]): string[] =>
  [...new Set(sockets.map(({ address }) => address))].slice(0, MAX_NAMED);

/** `hex` has words in the byte order of the machine, which is little-endian wherever the runner runs. */
function hostOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => [...Buffer.from(word, "hex")].reverse());
  if (bytes.length === 4) return bytes.join(".");
  if (bytes.every((byte) => byte === 0)) return "[::]";
  if (bytes.slice(0, 15).every((byte) => byte === 0)) return "[::1]";
  return `[${Buffer.from(bytes).toString("hex").match(/.{4}/g)?.join(":")}]`;
}

/** Returns the addresses on which processes of this machine listen; undefined if there is no /proc. */
export async function addressesOfProcesses(pids: readonly number[]): Promise<string[] | undefined> {
  const tables = ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8"));
  const [tcp, tcp6] = await Promise.all(tables.map((table) => table.catch(() => undefined)));
  if (tcp === undefined) return undefined;
  const own = new Set((await Promise.all(pids.map(socketsOf))).flat());
  const sockets = listeningSockets(`${tcp}\n${tcp6 ?? ""}`);
  return addressesOf(sockets.filter(({ inode }) => own.has(inode)));
}

/** The inodes of the sockets that a process has open. */
async function socketsOf(pid: number): Promise<string[]> {
  const files = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const links = files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => ""));
  return (await Promise.all(links)).flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}
