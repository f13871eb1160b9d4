/**
 * Which addresses are not the public internet, in CIDR notation: for whoever reaches out on behalf
 * of a user, the Worker (domain/webhooks/address.ts) and the runner.
 */

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
export const GLOBAL_V6 = "2000::/3";

/** Parts of it that are not: protocols (Teredo among them), documentation, 6to4. */
export const NOT_PUBLIC_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
