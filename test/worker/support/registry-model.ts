/**
 * A model of the registry: what it must have after a series of calls, and what it may have. Everything that a
 * push, a tag, a version or a prediction counts on must stay, and everything else must go in the end.
 */
import { PUSH_MS } from "../../../src/services/registry/sweep-registry.ts";

/** The registry notes a HEAD at most once an hour. */
const NOTED_MS = 3_600_000;
/** Predictions of a deleted version may run for this long. */
const HELD_MS = 4 * 86_400_000;

interface Stored {
  /** The time at which a push last counted on it, unix ms. */
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
  /** Digests of deleted versions, with the time until which they are held. */
  readonly holds = new Map<string, number>();
  /** Digests that a permitted user has deleted although something names them. */
  readonly removed = new Set<string>();
  isDeleted = false;

  blob(digest: string, now: number): void {
    this.blobs.set(digest, { used: now });
  }

  /** Notes that a client found a blob. */
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

  /** @returns the digests that are now held */
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

  /** Whether a deletion is refused, because a version needs the manifest or one that names it. */
  isBound(digest: string, now: number): boolean {
    if (this.#isOfVersion(digest, now)) return true;
    return [...this.manifests].some(
      ([other, { names }]) => names.includes(digest) && this.isBound(other, now),
    );
  }

  #isOfVersion = (digest: string, now: number) =>
    [...this.versions.values()].includes(digest) || (this.holds.get(digest) ?? 0) > now;

  /** Returns the digests that must be readable. */
  needed(now: number): Set<string> {
    const needed = new Set<string>();
    const need = (digest: string) => {
      if (needed.has(digest) || this.removed.has(digest)) return;
      needed.add(digest);
      for (const name of this.manifests.get(digest)?.names ?? []) need(name);
    };
    // A model that was deleted takes no pushes.
    const isRecent = ({ used }: Stored) => !this.isDeleted && now < used + PUSH_MS;
    for (const [digest, one] of [...this.blobs, ...this.manifests])
      if (isRecent(one) || this.#isOfVersion(digest, now)) need(digest);
    for (const digest of this.tags.values()) need(digest);
    // An attached manifest stays as long as its subject.
    for (let before = -1; before !== needed.size; ) {
      before = needed.size;
      for (const [digest, { subject }] of this.manifests)
        if (subject !== undefined && needed.has(subject) && this.manifests.has(subject))
          need(digest);
    }
    return needed;
  }
}
