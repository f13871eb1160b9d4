/** Which addresses are the public internet, and which of the others an operator has allowed. */
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** IPv4 that is not the public internet (RFC 6890), or is a cloud's door to its own machines. */
export const NOT_PUBLIC = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Azure's WireServer, which gives a machine its certificates.
  "168.63.129.16/32",
  // The metadata of most clouds (169.254.169.254) is in here.
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
];

/**
 * All global unicast there is in IPv6. Outside of it are loopback, link-local, ULA, multicast, and
 * what holds an IPv4 address: mapped, compatible, NAT64 (64:ff9b::/96).
 */
const GLOBAL_V6 = "2000::/3";

/** Parts of it that are not: protocols (Teredo among them), documentation, 6to4. */
const NOT_PUBLIC_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const notPublicV4 = blockList(NOT_PUBLIC);
const globalV6 = blockList([GLOBAL_V6]);
const notPublicV6 = blockList(NOT_PUBLIC_V6);

/** Where a runner may fetch from. */
export class Reach {
  readonly #allowed: BlockList;

  /** @param allow ranges in CIDR notation, whose addresses need be neither public nor https. */
  constructor(allow: string[]) {
    this.#allowed = blockList(allow);
  }

  /** @param address as the resolver gives it. */
  permits(address: string, protocol: string): boolean {
    const version = isIP(address);
    // An address with a zone (fe80::1%eth0) is of this machine's links.
    if (version === 0 || address.includes("%")) return false;
    if (this.#allowed.check(address, version === 4 ? "ipv4" : "ipv6")) return true;
    return protocol === "https:" && isPublic(address, version) && !isOwn(address);
  }
}

const isPublic = (address: string, version: number): boolean =>
  version === 4
    ? !notPublicV4.check(address, "ipv4")
    : globalV6.check(address, "ipv6") && !notPublicV6.check(address, "ipv6");

/** This machine's public addresses: seen from here, its firewall keeps nobody out. */
const isOwn = (address: string): boolean =>
  Object.values(networkInterfaces()).some((of) => of?.some((own) => own.address === address));

function blockList(ranges: string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", prefix] = range.split("/");
    list.addSubnet(address, Number(prefix), isIP(address) === 4 ? "ipv4" : "ipv6");
  }
  return list;
}
