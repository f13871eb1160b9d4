/**
 * What the registry must have after what was done, and what it may have: nothing that a push, a tag, a version or a
 * prediction counts on may be missing, and nothing else may stay for ever.
 */
import { PUSH_MS } from "../../../src/services/registry/sweep-registry.ts";

/** A HEAD is noted at most once an hour. */
const NOTED_MS = 3_600_000;
/** How long predictions of a deleted version may run. */
const HELD_MS = 4 * 86_400_000;

interface Stored {
  /** When a push last counted on it. */
  used: number;
}

interface StoredManifest extends Stored {
  names: string[];
  subject: string | undefined;
}

export class RepositoryModel {
  readonly blobs = new Map<string, Stored>();
  readonly manifests = new Map<string, StoredManifest>();
  /** Digests by tag. */
  readonly tags = new Map<string, string>();
  /** Digests by number. */
  readonly versions = new Map<number, string>();
  /** Of versions that were deleted: digests, and until when. */
  readonly holds = new Map<string, number>();
  /** What one who may do so has deleted though something names it. */
  readonly removed = new Set<string>();
  isDeleted = false;

  blob(digest: string, now: number): void {
    this.blobs.set(digest, { used: now });
  }

  /** It was found to be there. */
  found(digest: string, now: number): void {
    const known = this.blobs.get(digest);
    if (known) known.used = Math.max(known.used, now - NOTED_MS);
  }

  manifest(digest: string, names: string[], subject: string | undefined, now: number): void {
    this.manifests.set(digest, { used: now, names, subject });
    this.removed.delete(digest);
    for (const name of names) {
      const one = this.blobs.get(name) ?? this.manifests.get(name);
      if (one) one.used = now;
    }
  }

  deleteManifest(digest: string): void {
    this.manifests.delete(digest);
    this.removed.add(digest);
    for (const [tag, named] of this.tags) if (named === digest) this.tags.delete(tag);
  }

  /** @returns what is held by it */
  deleteVersion(number: number, now: number): string[] {
    const digest = this.versions.get(number);
    this.versions.delete(number);
    if (digest === undefined) return [];
    this.holds.set(digest, now + HELD_MS);
    return [digest];
  }

  deleteModel(now: number): string[] {
    this.tags.clear();
    this.isDeleted = true;
    return [...this.versions.keys()].flatMap((number) => this.deleteVersion(number, now));
  }

  /** Whether deleting it is refused: a version needs it, or what names it. */
  isBound(digest: string, now: number): boolean {
    if (this.#isOfVersion(digest, now)) return true;
    return [...this.manifests].some(
      ([other, { names }]) => names.includes(digest) && this.isBound(other, now),
    );
  }

  #isOfVersion = (digest: string, now: number) =>
    [...this.versions.values()].includes(digest) || (this.holds.get(digest) ?? 0) > now;

  /** What must be readable. */
  needed(now: number): Set<string> {
    const needed = new Set<string>();
    const need = (digest: string) => {
      if (needed.has(digest) || this.removed.has(digest)) return;
      needed.add(digest);
      for (const name of this.manifests.get(digest)?.names ?? []) need(name);
    };
    // Nobody can push to a model that is not there.
    const isRecent = ({ used }: Stored) => !this.isDeleted && now < used + PUSH_MS;
    for (const [digest, one] of [...this.blobs, ...this.manifests])
      if (isRecent(one) || this.#isOfVersion(digest, now)) need(digest);
    for (const digest of this.tags.values()) need(digest);
    // What is attached to something stays as long as that does.
    for (let before = -1; before !== needed.size; ) {
      before = needed.size;
      for (const [digest, { subject }] of this.manifests)
        if (subject !== undefined && needed.has(subject) && this.manifests.has(subject))
          need(digest);
    }
    return needed;
  }
}
