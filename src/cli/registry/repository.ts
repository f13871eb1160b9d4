/** One repository of the registry: its blobs and tags, and pushes to it. */
import pLimit from "p-limit";
import { z } from "zod";
import { statusOf } from "../../../runner/src/lib/error.ts";
import { type Identity, Notes } from "../notes.ts";
import { BlobUpload, type Content, type UploadState } from "./blob-upload.ts";
import type { RegistryClient } from "./registry-client.ts";

/** The registry forgets uploads earlier. */
const STALE_MS = 7 * 24 * 3_600_000;

const uploadState = z.object({
  location: z.string(),
  chunkBytes: z.int().positive(),
  leastChunkBytes: z.int().positive(),
});

const tagList = z.object({ tags: z.array(z.string()) });
/** The number of tags that are read at the same time. */
const PARALLEL = 4;

export interface PushEvents {
  onSent?: (bytes: number) => void;
  /** Bytes that an earlier process had sent. */
  onArrived?: (bytes: number) => void;
}

export interface RepositoryOptions {
  client: RegistryClient;
  /** `owner/name` */
  name: string;
  /** The folder of the notes about unfinished uploads. */
  state: string;
}

export class Repository {
  readonly #client: RegistryClient;
  readonly #name: string;
  readonly #notes: Notes<UploadState>;

  constructor({ client, name, state }: RepositoryOptions) {
    this.#client = client;
    this.#name = name;
    this.#notes = new Notes(`${state}/pushes`, uploadState);
  }

  async hasBlob(digest: string): Promise<boolean> {
    const { status } = await this.#client.retried(
      this.#url(`blobs/${digest}`),
      { method: "HEAD" },
      [200, 404],
    );
    return status === 200;
  }

  /** Whether it is here now, if need be from another repository of the account: a base image's layers are. */
  async takeBlob(digest: string): Promise<boolean> {
    if (await this.hasBlob(digest)) return true;
    const url = this.#url("blobs/uploads/");
    url.searchParams.set("mount", digest);
    const { status, headers } = await this.#client.retried(url, { method: "POST" }, [201, 202]);
    if (status === 201) return true;
    // An upload was begun instead; one that was interrupted goes on elsewhere.
    const begun = this.#client.urlOf(headers.location ?? "");
    await this.#client.retried(begun, { method: "DELETE" }, [204, 404]);
    return false;
  }

  /** @throws RegistryError if the token may not push here */
  async requirePush(): Promise<void> {
    const upload = await BlobUpload.begin(this.#client, this.#url("blobs/uploads/"));
    await upload.cancel();
  }

  /**
   * Sends a blob, from where an earlier process was interrupted.
   * Both counts are negative for bytes that the registry has no more.
   */
  async pushBlob(
    digest: string,
    content: Content,
    { onSent, onArrived }: PushEvents = {},
  ): Promise<void> {
    await this.#notes.sweep(STALE_MS);
    const url = this.#url("blobs/uploads/");
    // The address of an upload is its key, so notes are private to this user.
    const identity: Identity = [url.href, digest];
    const events = {
      ...(onSent && { onSent }),
      onState: (state: UploadState) => this.#notes.save(identity, state),
    };
    const known = await this.#notes.find(identity);
    const resumed = known && (await BlobUpload.resume(this.#client, known, events));
    if (resumed) {
      const { offset } = resumed;
      onArrived?.(offset);
      try {
        return await this.#send(resumed, digest, content, identity);
      } catch (error) {
        // The upload has expired or has other bytes, so a new one begins.
        if (![400, 404, 409, 416].includes(statusOf(error) ?? 0)) throw error;
        if (await this.hasBlob(digest)) return;
        onSent?.(offset - resumed.offset);
        onArrived?.(-offset);
      }
    }
    const begun = await BlobUpload.begin(this.#client, url, events);
    await this.#send(begun, digest, content, identity);
  }

  /** @param reference a tag, or its digest */
  async pushManifest(reference: string, mediaType: string, body: Buffer): Promise<void> {
    const headers = { "content-type": mediaType };
    await this.#client.retried(
      this.#url(`manifests/${reference}`),
      { method: "PUT", headers, body },
      [201],
    );
  }

  /** Returns the first tags by name, with their images. */
  async tags(count: number): Promise<{ tag: string; digest: string }[]> {
    const url = this.#url("tags/list");
    url.searchParams.set("n", String(count));
    const { body: text } = await this.#client.retried(url, { method: "GET" }, [200]);
    const { tags } = tagList.parse(JSON.parse(text));
    const limit = pLimit(PARALLEL);
    return limit.map(tags, async (tag) => ({ tag, digest: await this.#digestOf(tag) }));
  }

  async #digestOf(tag: string): Promise<string> {
    const url = this.#url(`manifests/${tag}`);
    const { headers } = await this.#client.retried(url, { method: "HEAD" }, [200]);
    return String(headers["docker-content-digest"] ?? "");
  }

  /** @param reference a tag, which goes alone, or a digest, which goes with its tags */
  async deleteManifest(reference: string): Promise<void> {
    await this.#client.delete(this.#url(`manifests/${reference}`));
  }

  async #send(upload: BlobUpload, digest: string, content: Content, identity: Identity) {
    await upload.append(content, upload.offset);
    try {
      await upload.finish(digest);
    } catch (error) {
      // The answer to the previous request may have been lost.
      if (statusOf(error) !== 404 || !(await this.hasBlob(digest))) throw error;
    }
    await this.#notes.remove(identity);
  }

  #url(path: string): URL {
    return this.#client.urlOf(`/v2/${this.#name}/${path}`);
  }
}
