/** The images that this runner has pulled, which it may remove when the disk is full. */

import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type Dockerode from "dockerode";
import { z } from "zod";
import { parseJson } from "../../../../src/lib/json.ts";
import { withTimeout } from "../../../../src/lib/timeout.ts";
import type { Evictable, EvictionSource } from "../../disk/evictable.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import { ignoreStatus } from "./errors.ts";
import { KEPT_FOR_LABEL, KEPT_LABEL } from "./layer-keeper.ts";

/** The job that has failed must not wait for a Docker that hangs. */
const ANSWER_MS = 5_000;

interface ImageStoreOptions {
  docker: Dockerode;
  /** The folder where Docker keeps images. */
  folder: string;
  record: ImageRecord;
  /** The runner's name, which its kept layers have as a label. */
  runner: string;
  log: Log;
}

export class ImageStore implements EvictionSource {
  readonly folder: string;
  readonly #docker: Dockerode;
  readonly #record: ImageRecord;
  readonly #runner: string;
  readonly #log: Log;
  /** How many jobs pull each image, or are about to start a container of it. */
  readonly #holds = new Map<string, number>();
  readonly #removals = new Map<string, Promise<unknown>>();

  constructor({ docker, folder, record, runner, log }: ImageStoreOptions) {
    this.folder = folder;
    this.#docker = docker;
    this.#record = record;
    this.#runner = runner;
    this.#log = log;
  }

  /** Keeps an image that may not be there yet. @returns a function that ends the hold; may be called again */
  async hold(reference: string): Promise<() => void> {
    this.#holds.set(reference, (this.#holds.get(reference) ?? 0) + 1);
    let held = true;
    // A removal of the image may be under way: only after it does Docker know whether the image is there.
    await this.#removals.get(reference)?.catch(() => {});
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#holds.get(reference) ?? 0) - 1;
      if (left > 0) this.#holds.set(reference, left);
      else this.#holds.delete(reference);
    };
  }

  /** Stops writing the record, which belongs to another process from now on. */
  close(): void {
    this.#record.close();
  }

  /** Notes an image before the pull: if the runner dies meanwhile, Docker may still finish it. */
  pulling = (reference: string): Promise<void> => this.#noted(this.#record.note(reference));
  used = (reference: string): Promise<void> => this.#noted(this.#record.used(reference));

  /** Call this after a failed pull. The image stays noted if Docker may have it, or another job pulls it. */
  async forgetUnlessThere(reference: string): Promise<void> {
    if (this.#record.lastUsed(reference) === undefined) return;
    const inspection = this.#docker.getImage(reference).inspect();
    const found = withTimeout(ignoreStatus([404], inspection), ANSWER_MS);
    const isThere = await found.then(Boolean, () => true);
    if (isThere || this.#holds.has(reference)) return;
    await this.#noted(this.#record.removed(reference));
  }

  async evictables(): Promise<Evictable[]> {
    const [images, containers] = await Promise.all([
      this.#docker.listImages(),
      this.#docker.listContainers({ all: true }),
    ]);
    // Containers of anyone keep their image: a container that is stopped may be started again.
    const inContainers = new Set(containers.map(({ ImageID }) => ImageID));
    const found = new Set<string>();
    const evictables = images.flatMap(({ Id, Size, RepoDigests, Created, Labels }): Evictable[] => {
      if (Labels?.[KEPT_LABEL] === this.#runner) {
        const reference = Labels[KEPT_FOR_LABEL] ?? "";
        const name = `${reference} (layers of a broken pull)`;
        const inUse = this.#holds.has(reference);
        const remove = () => this.#removeImage(Id);
        return [{ kind: "image", name, size: Size, lastUsed: Created * 1_000, inUse, remove }];
      }
      return (RepoDigests ?? []).flatMap((name) => {
        const lastUsed = this.#record.lastUsed(name);
        if (lastUsed === undefined) return [];
        found.add(name);
        const inUse = this.#holds.has(name) || inContainers.has(Id);
        const remove = () => this.#removePulled(name);
        return [{ kind: "image", name, size: Size, lastUsed, inUse, remove }];
      });
    });
    await this.#forgetMissing(found);
    return evictables;
  }

  /** Forgets images that other programs have removed. */
  async #forgetMissing(found: ReadonlySet<string>): Promise<void> {
    for (const name of this.#record.references) {
      if (!found.has(name) && !this.#holds.has(name)) {
        await this.#noted(this.#record.removed(name));
      }
    }
  }

  async #removePulled(name: string): Promise<boolean> {
    if (this.#holds.has(name)) return false;
    const removal = this.#removeImage(name);
    this.#removals.set(name, removal);
    try {
      if (!(await removal)) return false;
      await this.#noted(this.#record.removed(name));
      return true;
    } finally {
      this.#removals.delete(name);
    }
  }

  /** Removes an image without force: Docker refuses if a container uses it. */
  async #removeImage(name: string): Promise<boolean> {
    try {
      await ignoreStatus([404], this.#docker.getImage(name).remove());
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  async #noted(writing: Promise<void>): Promise<void> {
    await writing.catch((error: unknown) => {
      this.#log.warn("could not note which images this runner has pulled", {
        error: messageOf(error),
      });
    });
  }
}

const isConflict = (error: unknown): boolean =>
  error instanceof Error && "statusCode" in error && error.statusCode === 409;

/** `repository@digest` as Docker has it, and the last use in ms since the epoch. */
const record = z.record(z.string(), z.number());

/**
 * The record of the images that this runner has pulled or is pulling, with the last use of each. It is a file
 * in the state directory, since a pulled image cannot have a label of the runner. The runner removes no other
 * image.
 */
export class ImageRecord {
  #folder: string | undefined;
  #lastUsed = new Map<string, number>();
  #writing: Promise<void> = Promise.resolve();

  /** @param folder undefined: nothing outlives this process */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  /** Reads the file of an earlier process. A broken file is ignored. */
  async open(): Promise<void> {
    if (this.#folder === undefined) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const text = await readFile(fileIn(this.#folder), "utf8").catch(() => "{}");
    this.#lastUsed = new Map(Object.entries(record.catch({}).parse(parseJson(text))));
  }

  get references(): string[] {
    return [...this.#lastUsed.keys()];
  }

  lastUsed(reference: string): number | undefined {
    return this.#lastUsed.get(reference);
  }

  /** Notes that this runner pulls or uses the image. */
  note(reference: string): Promise<void> {
    this.#lastUsed.set(reference, Date.now());
    return this.#write();
  }

  /** Notes a use of the image, if this runner has pulled it. */
  async used(reference: string): Promise<void> {
    if (this.#lastUsed.has(reference)) await this.note(reference);
  }

  async removed(reference: string): Promise<void> {
    if (this.#lastUsed.delete(reference)) await this.#write();
  }

  /** Stops writing the file; later notes stay in memory. */
  close(): void {
    this.#folder = undefined;
  }

  /** Writes a new file and renames it, so that a crash leaves the old file or the new one. */
  #write(): Promise<void> {
    const folder = this.#folder;
    if (folder === undefined) return Promise.resolve();
    const write = async () => {
      const partial = `${fileIn(folder)}.new`;
      const text = JSON.stringify(Object.fromEntries(this.#lastUsed), null, 2);
      await writeFile(partial, text, { mode: 0o600, flush: true });
      await rename(partial, fileIn(folder));
    };
    this.#writing = this.#writing.then(write, write);
    return this.#writing;
  }
}

const fileIn = (folder: string) => join(folder, "images.json");
