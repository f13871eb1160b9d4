/** The process of the control plane, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** Returns the process ID of the workerd that this process has started. */
export function workerdPid(): number | undefined {
  return pids().find((pid) => {
    const stat = statOf(pid);
    // The program's name is in brackets and may have blanks; the parent is the second field after it.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return stat.includes("(workerd)") && Number(parent) === process.pid;
  });
}

const pids = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Returns the `stat` of a process; empty if it has just ended. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}
