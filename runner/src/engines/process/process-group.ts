/**
 * A process group that cannot outlive the runner: it is ended by `kill`, or by itself when the
 * runner dies, even by SIGKILL.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A watcher in the group reads the pipe on descriptor 3 until it closes, because the runner closed
 * it or died, and then kills the whole group. The command replaces the shell, so that its exit
 * status and pid are the group's; its standard input is empty.
 */
const SCRIPT = `
exec 3<&0 </dev/null
{ cat <&3; kill -KILL 0; } >/dev/null 2>&1 &
exec 3<&-
exec "$@"
`;

export interface GroupOptions {
  command: readonly string[];
  directory: string;
  environment: Record<string, string>;
}

export function spawnGroup({ command, directory, environment }: GroupOptions): ChildProcess {
  const child = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], {
    cwd: directory,
    env: environment,
    detached: true,
    stdio: "pipe",
  });
  // The watcher may exit first: a pipe without a reader is no error.
  child.stdin.on("error", () => {});
  return child;
}

/** Signals a process group; a group that has already ended is no error. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

const PID = /^\d{1,10}$/;

/**
 * A file per process that the runner started, so that a later process of the runner can end what
 * this one left. The file contains the start time of the process, since a pid may have been reused.
 */
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
