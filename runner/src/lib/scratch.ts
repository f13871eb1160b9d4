/**
 * Folders for a while, in one that may hold other things too: an operator may have named the wrong
 * one. Only what has a name as it is given here is removed.
 */
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const PREFIX = "auspex-scratch-";
/** `mkdtemp` puts six characters behind it. */
const NAME = new RegExp(`^${PREFIX}[A-Za-z0-9]{6}$`);

export class ScratchFolders {
  readonly #root: string;

  /** `root` belongs to one runner: what has such a name there is its own. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Makes the root, and removes what is left there of an earlier life. */
  async sweep(): Promise<void> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    for (const name of await readdir(this.#root)) {
      if (NAME.test(name)) await rm(join(this.#root, name), { recursive: true, force: true });
    }
  }

  /** @returns the path of a new one, for this user alone. */
  make(): Promise<string> {
    return mkdtemp(join(this.#root, PREFIX));
  }
}
