/** Decides which addresses are public, and which others the operator has allowed. */
import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { GLOBAL_V6, NOT_PUBLIC, NOT_PUBLIC_V6 } from "../../../src/lib/public-address.ts";

const notPublicV4 = blockList(NOT_PUBLIC);
const globalV6 = blockList([GLOBAL_V6]);
const notPublicV6 = blockList(NOT_PUBLIC_V6);

/** The addresses that a runner may fetch from. */
export class AddressPolicy {
  readonly #allowed: BlockList;

  /** @param allow CIDR ranges that may be private and served over http */
  constructor(allow: string[]) {
    this.#allowed = blockList(allow);
  }

  /** @param address as returned by the resolver */
  permits(address: string, protocol: string): boolean {
    const version = isIP(address);
    // An address with a zone (fe80::1%eth0) is link-local.
    if (version === 0 || address.includes("%")) return false;
    if (this.#allowed.check(address, version === 4 ? "ipv4" : "ipv6")) return true;
    return protocol === "https:" && isPublic(address, version) && !isOwn(address);
  }
}

const isPublic = (address: string, version: number): boolean =>
  version === 4
    ? !notPublicV4.check(address, "ipv4")
    : globalV6.check(address, "ipv6") && !notPublicV6.check(address, "ipv6");

/** This machine's own public addresses: its firewall does not apply to requests from itself. */
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
