/** Limits of a token (protocol/token-limits.ts), and the requests that they allow. */
import ipaddr from "ipaddr.js";
import type { Endpoints, TokenLimits } from "../../protocol/token-limits.ts";

/** The groups of endpoints, by the path of a route as its router names it. Other routes have no group. */
const GROUPS: [Endpoints, RegExp][] = [
  ["predictions", /^\/v1\/(?:(?:models\/.+\/)?predictions|client_tokens)(?:\/|$)/],
  ["openai", /^\/v1\/vendora\//],
  ["anthropic", /^\/v1\/vendorb\//],
  ["replicate", /^\/replicate\/v1\//],
  ["files", /^\/v1\/(?:files|uploads)(?:\/|$)/],
  ["models", /^\/v1\/(?:models|search|hardware|model_categories)(?:\/|$)/],
  ["registry", /^\/v2(?:\/|$)/],
];

export const endpointsOf = (route: string): Endpoints | undefined =>
  GROUPS.find(([, pattern]) => pattern.test(route))?.[0];

export interface LimitedRequest {
  /** The path of its route. */
  route: string;
  origin: string | undefined;
  /** The IP address of the client. */
  address: string | undefined;
}

/**
 * Returns what the limits of a token do not allow in a request, as the rest of a sentence about the token;
 * undefined for an allowed request.
 */
export function outsideLimits(
  { endpoints, origins, networks }: TokenLimits,
  { route, origin, address }: LimitedRequest,
): string | undefined {
  const group = endpointsOf(route);
  if (endpoints && !(group && endpoints.includes(group)))
    return `can only call the endpoints of ${endpoints.join(", ")}, and not this one`;
  if (origins && !(origin && origins.includes(origin)))
    return `can only be used by web pages of ${origins.join(", ")}, and ${origin ? `this request comes from ${origin.slice(0, 200)}` : "this request has no header 'Origin'"}`;
  if (networks && !networks.some((network) => isIn(network, address)))
    return `can only be used from ${networks.join(", ")}, and this request comes from ${address ?? "an unknown address"}`;
  return undefined;
}

function isIn(network: string, address: string | undefined): boolean {
  if (address === undefined || !ipaddr.isValid(address)) return false;
  const client = ipaddr.process(address);
  const [range, bits] = ipaddr.parseCIDR(network);
  return client.kind() === range.kind() && client.match(range, bits);
}
