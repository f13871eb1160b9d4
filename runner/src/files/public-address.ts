/** Decides which addresses are public, and which others the operator has allowed. */

import { lookup as resolveName } from "node:dns/promises";
import { BlockList, isIP, type LookupFunction } from "node:net";
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

export type Resolve = (name: string) => Promise<{ address: string; family: number }[]>;

export const resolveAll: Resolve = (name) => resolveName(name, { all: true });

/**
 * A DNS lookup that returns only permitted addresses, so that no second lookup can return another
 * one.
 * @param refusal also used if the name does not exist: callers must not learn which names a network
 * has
 */
export function permittedLookup(
  lookupAll: Resolve,
  permits: (address: string) => boolean,
  refusal: () => Error,
): LookupFunction {
  return (name, { all }, done) => {
    lookupAll(name).then(
      (found) => {
        const permitted = found.filter(({ address }) => permits(address));
        const [first] = permitted;
        if (!first) done(refusal(), []);
        else if (all) done(null, permitted);
        else done(null, first.address, first.family);
      },
      (error) => done(isNotFound(error) ? refusal() : error, []),
    );
  };
}

const isNotFound = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOTFOUND";
