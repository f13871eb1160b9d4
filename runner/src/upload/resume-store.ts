/** Remembers unfinished uploads, so that the same command on the same file resumes its own. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { uuid } from "../../../src/protocol/common.ts";
import type { Environment } from "../settings/read-settings.ts";
import type { UploadOptions } from "./options.ts";

/** The service removes uploads earlier: after a week at most. */
const STALE_MS = 7 * 24 * 3_600_000;

const NOTE = /^[0-9a-f]{64}\.json$/;

const note = z.object({ id: uuid });

/** One note per upload. Its name is a hash of everything that must be equal to resume. */
export class ResumeStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** @returns the id of the upload; undefined if there is none or the note is damaged */
  async find(options: UploadOptions): Promise<string | undefined> {
    const text = await readFile(this.#pathOf(options), "utf8").catch(() => "");
    try {
      return note.parse(JSON.parse(text)).id;
    } catch {
      return undefined;
    }
  }

  /** @throws errors of the file system */
  async save(options: UploadOptions, id: string): Promise<void> {
    const { url, file } = options;
    // The other fields are for people who read the file.
    const text = JSON.stringify({ id, url, file: file.path }, null, 2);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(this.#pathOf(options), `${text}\n`, { mode: 0o600 });
  }

  async remove(options: UploadOptions): Promise<void> {
    await rm(this.#pathOf(options), { force: true });
  }

  /** Removes notes of abandoned uploads. */
  async sweep(now = Date.now()): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    for (const path of names.filter((name) => NOTE.test(name)).map((n) => join(this.#folder, n))) {
      // Another command may have removed it meanwhile.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
      if (now - mtimeMs > STALE_MS) await rm(path, { force: true });
    }
  }

  #pathOf({ url, file, mime_type, name }: UploadOptions): string {
    const { path, size, mtimeMs } = file;
    const identity = JSON.stringify([url, path, size, mtimeMs, mime_type, name]);
    const hash = createHash("sha256").update(identity).digest("hex");
    return join(this.#folder, `${hash}.json`);
  }
}

/** As in the XDG Base Directory specification, which ignores relative paths. */
export function resumeFolder({ XDG_STATE_HOME = "" }: Environment): string {
  const states = isAbsolute(XDG_STATE_HOME) ? XDG_STATE_HOME : join(homedir(), ".local", "state");
  return join(states, "auspex-runner", "uploads");
}
