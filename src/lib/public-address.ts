/**
 * Addresses that are not on the public internet, in CIDR notation. The Worker
 * (domain/webhooks/address.ts) and the runner refuse to connect to them on behalf of a user.
 */

/** Special-purpose IPv4 addresses (RFC 6890), and internal services of clouds. */
export const NOT_PUBLIC = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  // Azure's WireServer, which hands out a machine's certificates.
  "168.63.129.16/32",
  // Contains the metadata service of most clouds (169.254.169.254).
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
 * IPv6 global unicast. Loopback, link-local, ULA, multicast and addresses that embed an IPv4 address
 * (mapped, compatible, NAT64 64:ff9b::/96) are outside of it.
 */
export const GLOBAL_V6 = "2000::/3";

/** Parts of global unicast that are not public: protocol assignments such as Teredo, documentation, 6to4. */
export const NOT_PUBLIC_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];
