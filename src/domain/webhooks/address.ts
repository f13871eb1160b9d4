/**
 * Where a webhook may go: to the public internet over https. Everything else is somebody's inside,
 * and the service would be the way in.
 */
import ipaddr from "ipaddr.js";
import { GLOBAL_V6, NOT_PUBLIC, NOT_PUBLIC_V6 } from "../../lib/public-address.ts";

/**
 * Ends of names that no public server has: RFC 2606, 6761, 6762 (its appendix G too), 7686, 8375,
 * 9476, and ICANN's .internal. What else leads inside is known when it has been resolved.
 */
const NEVER_PUBLIC =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|home\.arpa|lan|test|example|invalid|alt|onion)$/;

const LOCALHOST = /(?:^|\.)localhost$/;

const notPublicV4 = NOT_PUBLIC.map((range) => ipaddr.IPv4.parseCIDR(range));
const globalV6 = ipaddr.IPv6.parseCIDR(GLOBAL_V6);
const notPublicV6 = NOT_PUBLIC_V6.map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Why nothing may be posted there, as far as an address tells without being resolved; undefined
 * when it may. A text for people, without the query.
 * @param allowInsecure http and loopback may be: for the quickstart and tests.
 */
export function refusalOf(url: URL, allowInsecure: boolean): string | undefined {
  if (url.protocol !== "https:" && !(allowInsecure && url.protocol === "http:")) {
    return "it is not https: give an address that begins with https://";
  }
  if (url.username || url.password) {
    return "it has a user name or a password in it: leave them out, and verify signatures instead";
  }
  const host = hostOf(url);
  if (host.split(".").includes("")) return emptyLabel(url);
  if (allowInsecure && isLoopback(host)) return undefined;
  if (isLiteral(host)) return isPublic(host) ? nameless(host) : notPublic(host);
  return host.includes(".") && !NEVER_PUBLIC.test(host) ? undefined : notPublic(host);
}

const emptyLabel = ({ hostname }: URL): string =>
  `'${hostname}' is not the name of a host: it begins with a dot, or has two in a row`;

/** Cloudflare answers a request to an IP address itself, with its error 1003. */
const nameless = (host: string): string =>
  `${host} is an IP address, to which Cloudflare does not connect: give the name of a host`;

/** @param host a name, or an address. */
export const notPublic = (host: string): string =>
  `${host} is not on the public internet: give an address that anybody can reach`;

/**
 * The name or the address in it: IPv6 without brackets, a name without the dot of the root. The URL
 * parser has made lower case of it, and four decimal numbers of every other way to write an IPv4
 * address.
 */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "");

const isLiteral = (host: string): boolean => isV4(host) || ipaddr.IPv6.isValid(host);

/** Whether it stands for this machine, without anybody being asked. @param host of `hostOf`. */
export const isLoopback = (host: string): boolean =>
  LOCALHOST.test(host) || host === "::1" || (isV4(host) && host.startsWith("127."));

/** @param address as a resolver gives it. What is no address at all is not public. */
export function isPublic(address: string): boolean {
  if (isV4(address)) {
    const parsed = ipaddr.IPv4.parse(address);
    return !notPublicV4.some((range) => parsed.match(range));
  }
  // An address with a zone (fe80::1%eth0) is of one machine's links.
  if (!ipaddr.IPv6.isValid(address) || address.includes("%")) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.match(globalV6) && !notPublicV6.some((range) => parsed.match(range));
}

/** Four decimal numbers, and no other spelling: resolvers differ over the others. */
const isV4 = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text);
