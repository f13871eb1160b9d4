/** The addresses that a webhook may go to: https, and no internal network. */
import ipaddr from "ipaddr.js";
import { GLOBAL_V6, NOT_PUBLIC, NOT_PUBLIC_V6 } from "../../lib/public-address.ts";

/**
 * Domains that no public server has: RFC 2606, 6761, 6762 (with its appendix G), 7686, 8375, 9476,
 * and ICANN's .internal. Other private addresses are found when the name is resolved.
 */
const NEVER_PUBLIC =
  /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|private|corp|home|home\.arpa|lan|test|example|invalid|alt|onion)$/;

const LOCALHOST = /(?:^|\.)localhost$/;

const notPublicV4 = NOT_PUBLIC.map((range) => ipaddr.IPv4.parseCIDR(range));
const globalV6 = ipaddr.IPv6.parseCIDR(GLOBAL_V6);
const notPublicV6 = NOT_PUBLIC_V6.map((range) => ipaddr.IPv6.parseCIDR(range));

/**
 * Returns why a URL is refused, as far as this is known without resolving its name; undefined when it is not.
 * The text is for users, and without the query.
 * @param allowInsecure allows http and loopback: for the quickstart and tests
 */
export function urlRefusal(url: URL, allowInsecure: boolean): string | undefined {
  if (url.protocol !== "https:" && !(allowInsecure && url.protocol === "http:")) {
    return "it is not https: use a URL that begins with https://";
  }
  if (url.username || url.password) {
    return "it contains a user name or password: remove them, and verify signatures instead";
  }
  const host = hostOf(url);
  if (host.split(".").includes("")) return emptyLabel(url);
  if (allowInsecure && isLoopback(host)) return undefined;
  if (isLiteral(host)) return isPublic(host) ? notByAddress(host) : notPublic(host);
  return host.includes(".") && !NEVER_PUBLIC.test(host) ? undefined : notPublic(host);
}

const emptyLabel = ({ hostname }: URL): string =>
  `Invalid host name '${hostname}': it starts with a dot, or contains two in a row`;

/** The refusal of an IP address: Cloudflare itself responds to such a request, with its error 1003. */
const notByAddress = (host: string): string =>
  `${host} is an IP address. Use a host name, because Cloudflare does not connect to IP addresses`;

export const notPublic = (host: string): string =>
  `${host} is not on the public internet. Use a public URL`;

/**
 * Returns the host name or address: IPv6 without brackets, a name without the trailing dot. The URL parser
 * has made it lower case, and has normalized IPv4 addresses to four decimal numbers.
 */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$|\.$/g, "");

const isLiteral = (host: string): boolean => isV4(host) || ipaddr.IPv6.isValid(host);

/** Whether a host is a loopback name or address. @param host of `hostOf` */
export const isLoopback = (host: string): boolean =>
  LOCALHOST.test(host) || host === "::1" || (isV4(host) && host.startsWith("127."));

/** @param address as a resolver returns it. A text that is no address is not public */
export function isPublic(address: string): boolean {
  if (isV4(address)) {
    const parsed = ipaddr.IPv4.parse(address);
    return !notPublicV4.some((range) => parsed.match(range));
  }
  // An address with a zone (fe80::1%eth0) is link-local.
  if (!ipaddr.IPv6.isValid(address) || address.includes("%")) return false;
  const parsed = ipaddr.IPv6.parse(address);
  return parsed.match(globalV6) && !notPublicV6.some((range) => parsed.match(range));
}

/** Whether a text is an IPv4 address of four decimal numbers: resolvers disagree about other notations. */
const isV4 = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text);

/** Removes the query, which may contain a secret of the receiver. */
export const withoutQuery = (url: string): string => url.replace(/[?#].*$/, "");
