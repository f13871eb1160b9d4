/** How much memory process groups use, from /proc. Pages that processes share count for each of them. */
import { readdir, readFile } from "node:fs/promises";

const PID = /^\d+$/;

interface Process {
  pid: number;
  parent: number;
  group: number;
  bytes: number;
}

/**
 * Returns the bytes of RAM of each group by its pid, including processes that left the group and still have a
 * parent in it. Groups without a process are left out; without /proc (macOS) all are.
 */
export async function residentMemory(
  groups: Iterable<number>,
  signal: AbortSignal,
): Promise<Map<number, number>> {
  const processes = await readProcesses(signal);
  const used = new Map<number, number>();
  for (const group of groups) {
    const members = membersOf(group, processes);
    if (members.length > 0) used.set(group, sumOf(members));
  }
  return used;
}

/** Returns the processes of a group, including those that left it and still have a parent in it. */
export async function processesOf(group: number): Promise<number[]> {
  const processes = await readProcesses(new AbortController().signal);
  return membersOf(group, processes).map(({ pid }) => pid);
}

function membersOf(group: number, processes: readonly Process[]): Process[] {
  const children = Map.groupBy(processes, ({ parent }) => parent);
  const members = new Set(processes.filter((one) => one.group === group));
  for (const { pid } of members) for (const child of children.get(pid) ?? []) members.add(child);
  return [...members];
}

/** Processes are read one after the other: a machine may have thousands, and no caller is in a hurry. */
async function readProcesses(signal: AbortSignal): Promise<Process[]> {
  const processes: Process[] = [];
  for (const name of await readdir("/proc").catch(() => [])) {
    signal.throwIfAborted();
    if (!PID.test(name)) continue;
    // The process may have ended meanwhile, or be hidden.
    const status = await readFile(`/proc/${name}/status`, "utf8").catch(() => undefined);
    if (status === undefined) continue;
    processes.push({
      pid: Number(name),
      parent: field(status, "PPid"),
      group: field(status, "NSpgid"),
      // VmRSS is in kB. A thread of the kernel has none.
      bytes: field(status, "VmRSS") * 1_024,
    });
  }
  return processes;
}

const field = (status: string, name: string): number =>
  Number(status.match(new RegExp(`^${name}:\\s*(\\d+)`, "m"))?.[1] ?? 0);

const sumOf = (processes: Iterable<Process>): number => {
  let sum = 0;
  for (const { bytes } of processes) sum += bytes;
  return sum;
};
