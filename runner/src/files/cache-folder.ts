/**
 * The cache's directory on disk:
 *
 *   files/{SHA-256 of the bytes}, sources/{SHA-256 of the source}.json
 *   partial/{uuid}: files being written or removed
 *
 * Files enter and leave the first two by rename, so that a crash leaves no partial files there.
 */

import { randomUUID } from "node:crypto";
import { renameSync } from "node:fs";
import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../../src/lib/json.ts";
import { Failure, internal, ofMachine } from "../../../src/run/failure.ts";
import { machineCode } from "../lib/failure.ts";

const CONTENT_NAME = /^[0-9a-f]{64}$/;
const RECORD_NAME = /^[0-9a-f]{64}\.json$/;
const PARTIAL_NAME = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** A source, and the time of its last use in ms since the epoch. */
export interface CachedSource {
  source: Source;
  usedAt: number;
}

interface Names {
  has(name: string): boolean;
}

export class CacheFolder {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  async create(): Promise<void> {
    for (const kind of ["files", "sources", "partial"]) {
      await mkdir(join(this.root, kind), { recursive: true, mode: 0o700 });
    }
    await this.#remove("partial", PARTIAL_NAME, () => true);
  }

  /** The sources whose content is complete, the least recently used first. */
  async records(): Promise<(CachedSource & { id: string })[]> {
    const records: (CachedSource & { id: string })[] = [];
    const now = Date.now();
    for (const name of await readdir(join(this.root, "sources"))) {
      if (!RECORD_NAME.test(name)) continue;
      const path = join(this.root, "sources", name);
      const text = await readFile(path, "utf8");
      const source = cachedSource.safeParse(parseJson(text)).data;
      if (!source) continue;
      const file = await stat(this.content(source.content)).catch(() => undefined);
      if (file?.size !== source.size) continue;
      const usedAt = Math.min(now, (await stat(path)).mtimeMs);
      records.push({ id: name.slice(0, 64), source, usedAt });
    }
    return records.sort((a, b) => a.usedAt - b.usedAt);
  }

  async removeExcept(sources: Names, contents: Names): Promise<void> {
    await this.#remove("sources", RECORD_NAME, (name) => !sources.has(name.slice(0, 64)));
    await this.#remove("files", CONTENT_NAME, (name) => !contents.has(name));
  }

  content(hash: string): string {
    return join(this.root, "files", hash);
  }

  record(id: string): string {
    return join(this.root, "sources", `${id}.json`);
  }

  /** A new path for a file to be renamed later, or removed. */
  partial(): string {
    return join(this.root, "partial", randomUUID());
  }

  /** Renames first: unlinking 10 GB takes a while, and the same file may arrive meanwhile. */
  discard(path: string): void {
    const partial = this.partial();
    try {
      renameSync(path, partial);
    } catch {
      return; // The directory was cleared meanwhile.
    }
    rm(partial, { force: true }).catch(() => {});
  }

  /** Removes only files whose names match, since an operator may have configured the wrong directory. */
  async #remove(kind: string, names: RegExp, unwanted: (name: string) => boolean): Promise<void> {
    const folder = join(this.root, kind);
    for (const name of await readdir(folder)) {
      if (names.test(name) && unwanted(name)) await rm(join(folder, name), { force: true });
    }
  }
}

/** The files in use leave too little room at the moment. */
export class CacheFull extends Failure {
  /** The bytes that need room; undefined if unknown. */
  readonly bytes: number | undefined;

  constructor(bytes: number | undefined) {
    super("internal", "the runner's cache is full of files in use");
    this.bytes = bytes;
  }
}

/**
 * Turns disk errors into failures and returns others unchanged. Errors of a file's source have
 * types of their own, so an error with a system code comes from the disk.
 */
export function asDiskFailure(error: unknown): unknown {
  if (!(error instanceof Error && "code" in error && typeof error.code === "string")) return error;
  const make = machineCode(error) === undefined ? internal : ofMachine;
  return error.code === "ENOSPC"
    ? make("the disk of the runner's cache is full", { cause: error })
    : make(`the runner's cache is not writable: ${error.code}`, { cause: error });
}

const fileInfo = z.object({
  name: z.string(),
  mime_type: z.string(),
  /** The validators that ask a web server whether the file has changed, and the URL of the file. */
  validators: z
    .object({ from: z.string(), etag: z.string().optional(), modified: z.string().optional() })
    .optional(),
});
/** Properties of a source other than its bytes. */
export type FileInfo = z.infer<typeof fileInfo>;
export type Validators = NonNullable<FileInfo["validators"]>;

const cachedSource = fileInfo.extend({ content: z.string(), size: z.number() });
export type Source = z.infer<typeof cachedSource>;

/** The size of a record on most disks. */
export const RECORD_BYTES = 4_096;
