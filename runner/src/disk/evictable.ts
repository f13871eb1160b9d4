/** An image or weights that can be removed from the disk because they can be fetched again. */
export interface Evictable {
  kind: "image" | "weights";
  /** For the log. Unique among its kind. */
  name: string;
  /** Bytes on the disk, which may include bytes that are shared with others. */
  size: number;
  /** Ms since the epoch. */
  lastUsed: number;
  /** Whether a container runs with the item, or a job is about to start with it. */
  inUse: boolean;
  /** Does nothing if the item is in use. @returns whether it was removed */
  remove(): Promise<boolean>;
}

export interface EvictionSource {
  /** The folder of the evictables. Removing them makes room on its disk only. */
  readonly folder: string;
  evictables(): Promise<Evictable[]>;
}

/** Returns the evictables that are not in use, least recently used first, which is the order of removal. */
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
