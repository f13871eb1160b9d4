/**
 * Temporary folders in a directory that may hold other things too, since an operator may have
 * configured the wrong one: only names that match this module's pattern are removed.
 */
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const PREFIX = "auspex-scratch-";
/** `mkdtemp` appends six characters. */
const NAME = new RegExp(`^${PREFIX}[A-Za-z0-9]{6}$`);

export class ScratchFolders {
  readonly #root: string;

  /** `root` belongs to one runner: every folder in it with such a name is this runner's. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Creates the root, and removes the folders in it. @param kept paths of folders that stay */
  async sweep(kept: readonly string[] = []): Promise<void> {
    await this.#create();
    for (const name of await readdir(this.#root)) {
      const path = join(this.#root, name);
      if (NAME.test(name) && !kept.includes(path)) await rm(path, { recursive: true, force: true });
    }
  }

  /** @returns the path of a new folder, accessible to this user only */
  async make(): Promise<string> {
    const make = () => mkdtemp(join(this.#root, PREFIX));
    return make().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      // The root may have been deleted while the runner runs, such as by a cleanup of /tmp.
      await this.#create();
      return make();
    });
  }

  #create(): Promise<unknown> {
    return mkdir(this.#root, { recursive: true, mode: 0o700 });
  }
}
