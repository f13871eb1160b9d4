/** Reads what Linux lists about connections, as a machine with the bytes of x86 and ARM writes it. */
import { endianness } from "node:os";
import { expect, test } from "vitest";
import { findUser } from "../../../src/cli/relay/peer.ts";

const HEAD =
  "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
const RELAY = "0100007F:1504";
const connection = {
  from: { address: "127.0.0.1", port: 40_000 },
  to: { address: "127.0.0.1", port: 5_380 },
};

const row = (local: string, remote: string, uid: number, inode: number, state = "01") =>
  `   1: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1`;
const find = (...rows: string[]) => findUser([HEAD, ...rows, ""].join("\n"), connection);

test.runIf(endianness() === "LE").each([
  ["its own end", [row("0100007F:9C40", RELAY, 1_000, 7)], 1_000],
  [
    "Java's end",
    [row("0000000000000000FFFF00000100007F:9C40", `0000000000000000FFFF0000${RELAY}`, 1_000, 7)],
    1_000,
  ],
  ["not the relay's end", [row(RELAY, "0100007F:9C40", 1_000, 7)], undefined],
  ["not the same port of another address", [row("0200007F:9C40", RELAY, 1_000, 7)], undefined],
  [
    "not what is closed, which is listed as root's",
    [row("0100007F:9C40", RELAY, 0, 0, "05")],
    undefined,
  ],
  ["nothing", [], undefined],
])("%s", (_, rows, uid) => {
  expect(find(...rows)).toBe(uid);
});
