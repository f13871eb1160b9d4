/** The process of the control plane, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** Returns the process IDs of workerd, one for each deployment that this process has started. */
export function workerdPids(): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const stat = statOf(pid);
    // The program's name is in brackets and may have blanks; the parent is the second field after it.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return stat.includes("(workerd)") && Number(parent) === process.pid;
  });
}

/** Returns the process ID of workerd, where this process has started one deployment. */
export const workerdPid = (): number | undefined => workerdPids()[0];

/** Returns the `stat` of a process; empty if it has just ended. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}
