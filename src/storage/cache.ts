/** Caches of one isolate. No entry is older than 10 s, so a revoked token stops working within 10 s. */
import { LRUCache } from "lru-cache";

const TTL_MS = 10_000;

/**
 * By default the cache memoizes the time and resets it with a timer. In a Worker that timer is
 * dropped with the request that set it, and nothing would expire any more.
 */
const clock = { ttlResolution: 0, perf: { now: () => Date.now() } };

interface Limits<Value> {
  /** Entries. */
  max: number;
  /** For values that may be large: the size of one, and the limit of all together. */
  sized?: { of: (value: Value) => number; max: number };
}

/**
 * @param load finds a value by its key. Misses are not cached, so that something just created is
 * found at once.
 */
export function cached<Key extends string, Value extends object, Source>(
  { max, sized }: Limits<Value>,
  load: (source: Source, key: Key) => Promise<Value | undefined>,
) {
  const cache = new LRUCache<Key, Value>({
    max,
    ttl: TTL_MS,
    ...clock,
    ...(sized && { maxSize: sized.max, sizeCalculation: sized.of }),
  });
  // A value that was being loaded during a `forget` may be the outdated one.
  let forgotten = 0;
  return {
    /** @param maxAgeMs how old a cached value may be */
    async get(source: Source, key: Key, maxAgeMs = TTL_MS): Promise<Value | undefined> {
      const hit = TTL_MS - cache.getRemainingTTL(key) < maxAgeMs ? cache.get(key) : undefined;
      if (hit) return hit;
      const before = forgotten;
      const value = await load(source, key);
      if (!value) cache.delete(key);
      else if (before === forgotten) cache.set(key, value);
      return value;
    },
    /** The cached value, without loading it. */
    known: (key: Key): Value | undefined => cache.get(key),
    forget(key: Key): void {
      forgotten++;
      cache.delete(key);
    },
    forgetAll(): void {
      forgotten++;
      cache.clear();
    },
  };
}

/** A cache without expiry, for values that never change. */
export const immutable = <Value extends object | string>(max: number) =>
  new LRUCache<string, Value>({ max });
