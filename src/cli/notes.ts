/** Notes in files about unfinished work, which the same command resumes. */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { parseJson } from "../lib/json.ts";

const NOTE = /^[0-9a-f]{64}\.json$/;

/** Everything that must be equal for a note to count. */
export type Identity = readonly unknown[];

/** One note per identity, whose hash is its name. */
export class Notes<Value> {
  readonly #folder: string;
  readonly #schema: z.ZodType<Value>;

  constructor(folder: string, schema: z.ZodType<Value>) {
    this.#folder = folder;
    this.#schema = schema;
  }

  /** Returns the note; undefined if there is none, or it is damaged. */
  async find(identity: Identity): Promise<Value | undefined> {
    const text = await readFile(this.#pathOf(identity), "utf8").catch(() => "");
    return this.#schema.safeParse(parseJson(text)).data;
  }

  /** @throws errors of the file system */
  async save(identity: Identity, value: Value): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(this.#pathOf(identity), `${JSON.stringify(value)}\n`, { mode: 0o600 });
  }

  async remove(identity: Identity): Promise<void> {
    await rm(this.#pathOf(identity), { force: true });
  }

  /** Removes notes that were not written for this time. */
  async sweep(staleMs: number, now = Date.now()): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const path of names.filter((name) => NOTE.test(name)).map((n) => join(this.#folder, n))) {
      // Another command may have removed it meanwhile.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
      if (now - mtimeMs > staleMs) await rm(path, { force: true });
    }
  }

  #pathOf(identity: Identity): string {
    const hash = createHash("sha256").update(JSON.stringify(identity)).digest("hex");
    return join(this.#folder, `${hash}.json`);
  }
}
