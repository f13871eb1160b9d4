/** What an isolate remembers: nothing in it is older than 10 s, so that a revoked token is dead by then. */
import { LRUCache } from "lru-cache";

const TTL_MS = 10_000;

/**
 * By default the cache remembers the time and sets a timer to forget it again; here that timer
 * dies with the request that set it, the time stands still, and nothing expires ever after.
 */
const clock = { ttlResolution: 0, perf: { now: () => Date.now() } };

interface Room<Value> {
  max: number;
  /** For values that may be large: what one takes, and what all may take together. */
  sized?: { of: (value: Value) => number; max: number };
}

/**
 * @param load finds a value by key. What is not found is not remembered: a thing just made is
 * found at once.
 */
export function remembered<Key extends string, Value extends object, Source>(
  { max, sized }: Room<Value>,
  load: (source: Source, key: Key) => Promise<Value | undefined>,
) {
  const cache = new LRUCache<Key, Value>({
    max,
    ttl: TTL_MS,
    ...clock,
    ...(sized && { maxSize: sized.max, sizeCalculation: sized.of }),
  });
  // What is being loaded while something is forgotten may be what was forgotten.
  let forgotten = 0;
  return {
    /** @param within how old it may be, ms */
    async get(source: Source, key: Key, within = TTL_MS): Promise<Value | undefined> {
      const hit = TTL_MS - cache.getRemainingTTL(key) < within ? cache.get(key) : undefined;
      if (hit) return hit;
      const before = forgotten;
      const value = await load(source, key);
      if (!value) cache.delete(key);
      else if (before === forgotten) cache.set(key, value);
      return value;
    },
    /** Without looking it up. */
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

/** What never changes once it is known. */
export const immutable = <Value extends object | string>(max: number) =>
  new LRUCache<string, Value>({ max });
