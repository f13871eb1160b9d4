/** The process of the control plane, by way of /proc. */
import { readdirSync, readFileSync } from "node:fs";

/** The pid of the workerd that this process has started. */
export function workerdPid(): number | undefined {
  return pids().find((pid) => {
    const stat = statOf(pid);
    // The name of the program stands in brackets and may hold blanks; the parent comes second after it.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return stat.includes("(workerd)") && Number(parent) === process.pid;
  });
}

const pids = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** One that has ended in this moment has none. */
function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}
