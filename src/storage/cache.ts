/**
 * Caches of one isolate. While D1 answers, no entry is older than 10 s, so a revoked token stops working
 * within 10 s.
 */
import { LRUCache } from "lru-cache";

const TTL_MS = 10_000;

/**
 * The clock of caches. The default memoizes the time and resets it with a timer. In a Worker that timer is
 * dropped with the request that set it, and nothing would expire any more.
 */
const clock = { ttlResolution: 0, perf: { now: () => Date.now() } };

interface Limits<Value> {
  max: number;
  /** For values that may be large: a function for the size of one, and the limit of all together. */
  sized?: { of: (value: Value) => number; max: number };
  /** How old a value may be while loading it again fails; 10 s by default. */
  failingMs?: number;
}

/** A cache whose values are loaded elsewhere, together with others. */
export function cache<Key extends string, Value extends object>({
  max,
  sized,
  failingMs = TTL_MS,
}: Limits<Value>) {
  const values = new LRUCache<Key, Value>({
    max,
    ttl: failingMs,
    ...clock,
    ...(sized && { maxSize: sized.max, sizeCalculation: sized.of }),
  });
  let forgotten = 0;
  return {
    /** @param maxAgeMs how old the value may be */
    known: (key: Key, maxAgeMs = TTL_MS): Value | undefined =>
      failingMs - values.getRemainingTTL(key) < maxAgeMs ? values.get(key) : undefined,
    /** Returns a value of any age up to `failingMs`. */
    lastKnown: (key: Key): Value | undefined => values.get(key),
    /**
     * Called before values are loaded.
     * @returns a function that keeps one value; undefined for a miss. If any value was forgotten meanwhile,
     * it keeps nothing: the value may be outdated
     */
    loading() {
      const before = forgotten;
      return (key: Key, value: Value | undefined): void => {
        if (!value) values.delete(key);
        else if (before === forgotten) values.set(key, value);
      };
    },
    forget(key: Key): void {
      forgotten++;
      values.delete(key);
    },
    forgetAll(): void {
      forgotten++;
      values.clear();
    },
  };
}

/**
 * @param load finds a value by its key. Misses are not cached, so that something just created is
 * found at once.
 */
export function cached<Key extends string, Value extends object, Source>(
  limits: Limits<Value>,
  load: (source: Source, key: Key) => Promise<Value | undefined>,
) {
  const values = cache<Key, Value>(limits);
  return {
    ...values,
    /** @param maxAgeMs how old a cached value may be */
    async get(source: Source, key: Key, maxAgeMs?: number): Promise<Value | undefined> {
      const known = values.known(key, maxAgeMs);
      if (known) return known;
      const keep = values.loading();
      try {
        const value = await load(source, key);
        keep(key, value);
        return value;
      } catch (error) {
        const last = limits.failingMs === undefined ? undefined : values.lastKnown(key);
        if (last) return last;
        throw error;
      }
    },
  };
}

/** A cache without expiry, for values that never change. */
export const immutable = <Value extends object | string>(max: number) =>
  new LRUCache<string, Value>({ max });
