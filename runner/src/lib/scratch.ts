/**
 * Temporary folders in a directory that may hold other things too, since an operator may have
 * configured the wrong one: only names that match this module's pattern are removed.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isLeftIn, ONLY_SEAT, type Seat } from "./seat.ts";

const PREFIX = "auspex-scratch-";
/** With the number of a seat, and the six characters that `mkdtemp` appends. */
const NAME = new RegExp(`^${PREFIX}([01])-[A-Za-z0-9]{6}$`);

export class ScratchFolders {
  readonly #root: string;
  readonly #seat: Seat;

  /** `root` belongs to one runner: every folder in it with such a name is its own. */
  constructor(root: string, seat: Seat = ONLY_SEAT) {
    this.#root = root;
    this.#seat = seat;
  }

  /** Creates the root and removes what earlier processes left in it. */
  async sweep(): Promise<void> {
    await this.#create();
    await this.#remove((number) => isLeftIn(this.#seat, number));
  }

  /** Removes those of this process. */
  async clear(): Promise<void> {
    await this.#create();
    await this.#remove((number) => number === this.#seat.number);
  }

  /** @returns the path of a new folder, accessible to this user only */
  async make(): Promise<string> {
    const make = () => mkdtemp(join(this.#root, `${PREFIX}${this.#seat.number}-`));
    return make().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      // Who tidies a machine up does not know what runs there.
      await this.#create();
      return make();
    });
  }

  /** Makes a folder that another process made one of this one's. What is open in it stays open. */
  async adopt(path: string): Promise<string> {
    const own = await this.make();
    await rename(path, own);
    return own;
  }

  async #remove(isUnwanted: (number: number) => boolean): Promise<void> {
    for (const name of await readdir(this.#root)) {
      const [, number] = NAME.exec(name) ?? [];
      if (number !== undefined && isUnwanted(Number(number)))
        await rm(join(this.#root, name), { recursive: true, force: true });
    }
  }

  #create(): Promise<unknown> {
    return mkdir(this.#root, { recursive: true, mode: 0o700 });
  }
}
