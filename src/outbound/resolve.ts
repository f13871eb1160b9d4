/** Resolves a host name by DNS over HTTPS, in its JSON format: a Worker has no other way. */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { hostOf, isLoopback, isPublic, notPublic, urlRefusal } from "../domain/webhooks/address.ts";
import type { WebhookSettings } from "../env.ts";
import { textUpTo } from "../lib/streams.ts";

/** A host could not be resolved. The message is for users. */
export class ResolutionFailed extends Error {}

/** Record types and response codes of RFC 1035 and 3596. */
const TYPES = { A: 1, AAAA: 28 };
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

/** The longest answer: about sixty records. A response rarely has 1 KiB. */
const MAX_ANSWER_BYTES = 16 * 1_024;

/**
 * The bounds of how long answers are cached: as long as the records allow, so that a change is noticed within
 * a minute.
 */
const MIN_TTL_SECONDS = 10;
const MAX_TTL_SECONDS = 60;

const dnsResponse = z.object({
  Status: z.int(),
  Answer: z
    .array(z.object({ type: z.int(), TTL: z.number().nonnegative(), data: z.string() }))
    .default([]),
});
type DnsRecords = z.infer<typeof dnsResponse>["Answer"];

const cache = new LRUCache<string, string[]>({
  max: 1_000,
  // The cache has no timer, as in storage/cache.ts: it would be dropped with the request that set it.
  ttlResolution: 0,
  perf: { now: () => Date.now() },
});

/**
 * Returns all addresses, IPv4 and IPv6; none when the name does not exist. One query at a time, so that a
 * delivery takes one of the object's six connections.
 * @param resolver URL of the DNS-over-HTTPS service
 * @throws Unresolved
 */
export async function resolve(
  host: string,
  resolver: string,
  signal: AbortSignal,
): Promise<string[]> {
  const key = `${resolver} ${host}`;
  const hit = cache.get(key);
  if (hit) return hit;
  const records = [
    ...(await recordsOf(host, "A", resolver, signal)),
    ...(await recordsOf(host, "AAAA", resolver, signal)),
  ];
  const addresses = records.map(({ data }) => data);
  if (addresses.length === 0) return [];
  const ttl = Math.min(
    MAX_TTL_SECONDS,
    ...records.map(({ TTL }) => Math.max(MIN_TTL_SECONDS, TTL)),
  );
  cache.set(key, addresses, { ttl: ttl * 1_000 });
  return addresses;
}

/** Returns the records of one type. The resolver follows aliases (CNAME). */
async function recordsOf(
  host: string,
  type: keyof typeof TYPES,
  resolver: string,
  signal: AbortSignal,
): Promise<DnsRecords> {
  const url = new URL(resolver);
  url.searchParams.set("name", host);
  url.searchParams.set("type", type);
  const { Status, Answer } = await query(url, signal).catch((cause) => {
    throw new ResolutionFailed(`${host} could not be resolved`, { cause });
  });
  if (Status === NO_SUCH_NAME) return [];
  // Neither type may be missing: the private address may be in the other one.
  if (Status !== NO_ERROR) throw new ResolutionFailed(`the name server of ${host} failed`);
  return Answer.filter((record) => record.type === TYPES[type]);
}

async function query(url: URL, signal: AbortSignal): Promise<z.infer<typeof dnsResponse>> {
  const headers = { accept: "application/dns-json" };
  const response = await fetch(url, { headers, redirect: "manual", signal });
  const text = await textUpTo(MAX_ANSWER_BYTES, response);
  return dnsResponse.parse(JSON.parse(text ?? ""));
}

/**
 * Checks a URL before each try, since a name may resolve to other addresses by then.
 * @returns why it is refused, for users; undefined when all its addresses are public
 * @throws ResolutionFailed
 */
export async function checkResolvedUrl(
  url: URL,
  { allowInsecure, resolver }: WebhookSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const refusal = urlRefusal(url, allowInsecure);
  if (refusal) return refusal;
  const host = hostOf(url);
  // urlRefusal accepts loopback only where it is allowed.
  if (isLoopback(host)) return undefined;
  const addresses = await resolve(host, resolver, signal);
  if (addresses.length === 0) return `${host} does not resolve to an address: check its spelling`;
  return addresses.every(isPublic) ? undefined : notPublic(host);
}
