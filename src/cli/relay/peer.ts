/** Whose program is at the other end of a connection over loopback: Linux tells in /proc/net/tcp. */
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { endianness } from "node:os";

const ROOT = 0;
/** A socket that its program has closed is listed as root's until it is gone. */
const CLOSED = "0";

interface Place {
  address: string;
  port: number;
}

export interface Connection {
  from: Place;
  to: Place;
}

/** Whether only programs of this user and root, such as Docker's daemon, are let in. */
export const knowsPeers = process.platform === "linux";

/** @returns true where the system does not tell */
export async function isOwnPeer(socket: Socket): Promise<boolean> {
  if (!knowsPeers) return true;
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (!remoteAddress || !remotePort || !localAddress || !localPort) return false;
  const from = { address: remoteAddress, port: remotePort };
  const to = { address: localAddress, port: localPort };
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/self/net/${name}`, "utf8").catch(() => "")),
  );
  const uid = findUser(tables.join(""), { from, to });
  return uid === ROOT || (uid !== undefined && uid === process.getuid?.());
}

/** @param table `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode …` */
export function findUser(table: string, { from, to }: Connection): number | undefined {
  for (const line of table.split("\n")) {
    const [, local, remote, , , , , uid, , inode] = line.trim().split(/\s+/);
    const isIt = isAt(local, from) && isAt(remote, to);
    if (isIt && inode !== CLOSED) return Number(uid);
  }
  return undefined;
}

/** Java's sockets are IPv6 always. */
const MAPPED = "0000000000000000FFFF0000";

const isAt = (text: string | undefined, place: Place): boolean =>
  text === written(place) || text === MAPPED + written(place);

/** 127.0.0.1:80 as `0100007F:0050`: a number in the machine's own order of bytes. */
function written({ address, port }: Place): string {
  const bytes = address.split(".").map(Number);
  if (endianness() === "LE") bytes.reverse();
  return `${Buffer.from(bytes).toString("hex")}:${port.toString(16).padStart(4, "0")}`.toUpperCase();
}
