/**
 * The chain of an audit log: each entry has the hash of the one before, and the newest hash is signed. A change
 * of an entry breaks the chain after it, and a chain that is written anew needs the deployment's SECRET_KEY.
 */
import { equal, hmac } from "@stablelib/hmac";
import { hash, SHA256 } from "@stablelib/sha256";
import { bytesOfHex, hex } from "../../lib/hex.ts";
import type { EntryRow } from "./entry.ts";

/** A place in a chain. The place before the first entry has the sequence 0 and no hash. */
export interface ChainPlace {
  sequence: number;
  hash: string;
}

export interface SignedPlace extends ChainPlace {
  signature: string;
}

export const CHAIN_START: ChainPlace = { sequence: 0, hash: "" };

/** Returns the place of an entry after another: the hash is SHA-256 of a JSON array, in hexadecimal. */
export function following(before: ChainPlace, row: EntryRow): ChainPlace {
  const sequence = before.sequence + 1;
  const content = JSON.stringify([
    before.hash,
    sequence,
    ...[row.id, row.account_id, row.action, row.occurred_at],
    ...[row.actor_type, row.actor_id, row.actor_name],
    ...[row.targets, row.context, row.changes],
  ]);
  return { sequence, hash: hex(hash(bytesOf(content)).slice()) };
}

/** A chain is signed at its newest entry, and at the last one that was deleted for its age. */
export type SignedEnd = "head" | "base";

/**
 * @param end a signature of the head is of no use as one of the base, after which alone entries are checked
 * @param chain the account of the chain: a signature is of no use in another
 * @param key 32 bytes that are derived from SECRET_KEY
 */
export const sign = (
  key: Uint8Array,
  chain: string,
  end: SignedEnd,
  { sequence, hash }: ChainPlace,
): string =>
  hex(hmac(SHA256, key, bytesOf(JSON.stringify(["audit", chain, end, sequence, hash]))).slice());

/** Whether one of the keys signed the place, checked in constant time. */
export const isSigned = (
  keys: readonly Uint8Array[],
  chain: string,
  end: SignedEnd,
  { signature, ...place }: SignedPlace,
): boolean =>
  keys.some((key) => equal(bytesOfHex(sign(key, chain, end, place)), bytesOfHex(signature)));

const bytesOf = (text: string) => new TextEncoder().encode(text);
