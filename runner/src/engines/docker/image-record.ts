/**
 * The record of the images that this runner has pulled or is pulling, with the last use of each. It is a file
 * in the state directory, since a pulled image cannot have a label of the runner. The runner removes no other
 * image.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

/** `repository@digest` as Docker has it, and the last use in ms since the epoch. */
const record = z.record(z.string(), z.number());

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
    this.#lastUsed = new Map(Object.entries(parse(text)));
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

function parse(text: string): z.infer<typeof record> {
  try {
    return record.catch({}).parse(JSON.parse(text));
  } catch {
    return {};
  }
}
