/**
 * The folder of the stored weights:
 *
 *   files/{account}/{name}         a complete file, named by the SHA-256 of its bytes or their identity
 *   files/{account}/{name}.part    an incomplete file, with {name}.ranges (partial-file.ts)
 *   trash/{uuid}                   a file that is being written or removed
 *   mounts/                        a folder for each container
 */
import { randomUUID } from "node:crypto";
import { renameSync, rmSync } from "node:fs";
import { mkdir, readdir, rm, stat, statfs, utimes } from "node:fs/promises";
import { join } from "node:path";

const ACCOUNT = /^[0-9a-f]{64}$/;
const FILE = /^([0-9a-f]{64})(\.part)?$/;
const TRASH = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

/** A file that an earlier process has left. */
export interface StoredFile {
  account: string;
  name: string;
  /** The size of the file; for an incomplete one, the largest size that it may reach. */
  size: number;
  isComplete: boolean;
  /** Unix ms. */
  usedAt: number;
}

export class StoreFolder {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  get mounts(): string {
    return join(this.root, "mounts");
  }

  /** Removes files that earlier processes were writing or removing. */
  async create(): Promise<void> {
    for (const kind of ["files", "trash", "mounts"]) {
      await mkdir(join(this.root, kind), { recursive: true, mode: 0o700 });
    }
    for (const name of await readdir(join(this.root, "trash"))) {
      if (TRASH.test(name)) await rm(join(this.root, "trash", name), { recursive: true });
    }
  }

  /** Returns the files, least recently used first. */
  async list(): Promise<StoredFile[]> {
    const found: StoredFile[] = [];
    for (const account of await readdir(join(this.root, "files"))) {
      if (!ACCOUNT.test(account)) continue;
      for (const entry of await readdir(join(this.root, "files", account))) {
        const [, name, part] = FILE.exec(entry) ?? [];
        if (name === undefined) continue;
        const { size, atimeMs, mtimeMs } = await stat(join(this.root, "files", account, entry));
        const isComplete = part === undefined;
        found.push({ account, name, size, isComplete, usedAt: isComplete ? atimeMs : mtimeMs });
      }
    }
    return found.sort((a, b) => a.usedAt - b.usedAt);
  }

  /** Makes the folders of the account and the trash each time, since they may have been deleted meanwhile. */
  async makeAccount(account: string): Promise<void> {
    for (const folder of [`files/${account}`, "trash"])
      await mkdir(join(this.root, folder), { recursive: true, mode: 0o700 });
  }

  path(account: string, name: string): string {
    return join(this.root, "files", account, name);
  }

  /** Returns a new path for a file that is being written. */
  temporary(): string {
    return join(this.root, "trash", randomUUID());
  }

  /** Renames first: to unlink 40 GB takes a while, and the same file may come again meanwhile. */
  discard(account: string, name: string): void {
    const path = this.path(account, name);
    rmSync(`${path}.ranges`, { force: true });
    for (const one of [path, `${path}.part`]) {
      const trash = this.temporary();
      try {
        renameSync(one, trash);
      } catch {
        continue; // There is none of this kind, or the folder was cleared meanwhile.
      }
      rm(trash, { force: true }).catch(() => {});
    }
  }

  /**
   * Notes the use of a file in the time of its last access, since containers see the time of its
   * modification. That one is 0, as in weights of Cog.
   */
  touch(path: string): Promise<void> {
    return utimes(path, new Date(), 0);
  }

  async freeBytes(): Promise<{ free: number; total: number }> {
    const { bavail, blocks, bsize } = await statfs(this.root);
    return { free: bavail * bsize, total: blocks * bsize };
  }
}
