/**
 * A file per process that the runner started, so that a later process of the runner can end what
 * this one left. The file contains the start time of the process, since a pid may have been reused.
 */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signalGroup } from "./process-group.ts";

const PID = /^\d{1,10}$/;

export class PidFiles {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Kills the process groups left by earlier runner processes. @returns their pids */
  async sweep(): Promise<number[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const swept: number[] = [];
    for (const name of await readdir(this.#directory)) {
      // Other files are skipped: the operator may have configured the wrong directory.
      if (!PID.test(name)) continue;
      const path = join(this.#directory, name);
      const then = await readFile(path, "utf8");
      const now = await startTime(Number(name));
      if (now !== undefined && now === then) {
        signalGroup(Number(name), "SIGKILL");
        swept.push(Number(name));
      }
      await rm(path, { force: true });
    }
    return swept;
  }

  async add(pid: number): Promise<void> {
    await writeFile(join(this.#directory, String(pid)), (await startTime(pid)) ?? "");
  }

  async remove(pid: number): Promise<void> {
    await rm(join(this.#directory, String(pid)), { force: true });
  }
}

/**
 * Returns the start time in clock ticks since boot; undefined if there is no such process, or no /proc
 * (macOS).
 */
async function startTime(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The program name, in parentheses, may contain spaces: count the fields after it.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}
