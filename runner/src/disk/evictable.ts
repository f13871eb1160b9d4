/** What can be removed from the disk because it can be fetched again, such as images and weights. */
export interface Evictable {
  kind: "image" | "weights";
  /** For the log. Unique among its kind. */
  name: string;
  /** Bytes that it takes; what it shares with others may be counted too. */
  size: number;
  /** Ms since the epoch. */
  lastUsed: number;
  /** Whether something runs with it, or a job is about to start with it. */
  inUse: boolean;
  /** Not if it is in use by now. @returns whether it was removed */
  remove(): Promise<boolean>;
}

/** Who has such things. */
export interface EvictionSource {
  /** Where they lie. Removing them makes room on that disk only. */
  readonly folder: string;
  evictables(): Promise<Evictable[]>;
}

/** What may be removed, in the order in which it goes: what was used longest ago first. */
export const evictionOrder = (all: readonly Evictable[]): Evictable[] =>
  all.filter(({ inUse }) => !inUse).sort((a, b) => a.lastUsed - b.lastUsed);

/** At most this is kept free by default. */
const MAX_KEPT_FREE = 50 * 1024 ** 3;

/** How much of a disk is kept free unless the operator says so: a tenth. */
export const defaultKeptFree = (diskBytes: number): number =>
  Math.min(Math.floor(diskBytes / 10), MAX_KEPT_FREE);

/**
 * The disk that an image needs while it is pulled: each layer lies there compressed, and unpacked to
 * about twice that.
 */
export const roomToPull = (compressedBytes: number): number => compressedBytes * 3;
