/**
 * A process group that cannot outlive the runner: it is ended by `kill`, or by itself when the
 * runner dies, even by SIGKILL.
 */
import { type ChildProcess, spawn } from "node:child_process";

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
