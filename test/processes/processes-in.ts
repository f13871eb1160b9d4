/** The processes of a folder's models, by way of /proc. */
import { readdirSync, readlinkSync } from "node:fs";

/** Pids of those that run in the folder or below it. */
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
