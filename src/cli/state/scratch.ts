/**
 * Folders for large files that are needed while a command runs. In the cache and not in the system's
 * folder for temporary files, which is memory on many machines: a layer may have 10 GB.
 */
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const OWNED = /^(\d+)-/;

/** Removes what processes left that were killed. @returns a new folder, which is the caller's to remove */
export async function makeScratch(cache: string): Promise<string> {
  const folder = join(cache, "scratch");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const [, pid] = OWNED.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(folder, name), { recursive: true, force: true });
  }
  return mkdtemp(join(folder, `${process.pid}-`));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
