/** The processes of a folder's models, from /proc. */
import { readdirSync, readlinkSync } from "node:fs";

/** Returns the IDs of processes whose working directory is the folder or below it. */
export function processesIn(directory: string): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => workingDirectory(pid).startsWith(directory));
}

function workingDirectory(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}
