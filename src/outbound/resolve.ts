/** The addresses of a host, by DNS over HTTPS in its JSON form: a Worker has no other way to know them. */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { textUpTo } from "../lib/bounded-text.ts";

/** It is not known which addresses a host has: the message, for people, says why. */
export class Unresolved extends Error {}

/** RFC 1035 and 3596: the numbers of the types of records, and of the answer that all is well. */
const TYPES = { A: 1, AAAA: 28 };
const NO_ERROR = 0;
const NO_SUCH_NAME = 3;

/** Some sixty records. The whole of a name's DNS answer rarely has 1 KiB. */
const MAX_ANSWER_BYTES = 16 * 1_024;

/** Remembered as long as its records say, within bounds: a change is noticed within a minute. */
const MIN_TTL_S = 10;
const MAX_TTL_S = 60;

const answer = z.object({
  Status: z.int(),
  Answer: z
    .array(z.object({ type: z.int(), TTL: z.number().nonnegative(), data: z.string() }))
    .default([]),
});
type Found = z.infer<typeof answer>["Answer"];

const known = new LRUCache<string, string[]>({
  max: 1_000,
  // As in storage/cache.ts: a timer of its own would die with the request that set it.
  ttlResolution: 0,
  perf: { now: () => Date.now() },
});

/**
 * All of them, IPv4 and IPv6; none when there is no such name. One question at a time: of the six
 * connections of an object that may wait for an answer, a delivery takes one.
 * @param resolver address of the service that is asked.
 * @throws Unresolved
 */
export async function resolve(
  host: string,
  resolver: string,
  signal: AbortSignal,
): Promise<string[]> {
  const key = `${resolver} ${host}`;
  const hit = known.get(key);
  if (hit) return hit;
  const records = [
    ...(await recordsOf(host, "A", resolver, signal)),
    ...(await recordsOf(host, "AAAA", resolver, signal)),
  ];
  const addresses = records.map(({ data }) => data);
  if (addresses.length === 0) return [];
  const ttl = Math.min(MAX_TTL_S, ...records.map(({ TTL }) => Math.max(MIN_TTL_S, TTL)));
  known.set(key, addresses, { ttl: ttl * 1_000 });
  return addresses;
}

/** Of one type. The resolver has followed the aliases (CNAME) in between. */
async function recordsOf(
  host: string,
  type: keyof typeof TYPES,
  resolver: string,
  signal: AbortSignal,
): Promise<Found> {
  const question = new URL(resolver);
  question.searchParams.set("name", host);
  question.searchParams.set("type", type);
  const { Status, Answer } = await ask(question, signal).catch((cause) => {
    throw new Unresolved(`the addresses of ${host} could not be looked up`, { cause });
  });
  if (Status === NO_SUCH_NAME) return [];
  // One half is not enough: what is private may be in the other.
  if (Status !== NO_ERROR) throw new Unresolved(`the name server of ${host} has failed`);
  return Answer.filter((record) => record.type === TYPES[type]);
}

async function ask(question: URL, signal: AbortSignal): Promise<z.infer<typeof answer>> {
  const headers = { accept: "application/dns-json" };
  const response = await fetch(question, { headers, redirect: "manual", signal });
  const text = await textUpTo(MAX_ANSWER_BYTES, response);
  return answer.parse(JSON.parse(text ?? ""));
}
