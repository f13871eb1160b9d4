/**
 * A process group that cannot outlive the runner: ended by `kill`, and by itself when the runner
 * dies in whatever way, even by SIGKILL.
 */
import { type ChildProcess, spawn } from "node:child_process";

/**
 * A watcher in the group reads the pipe on descriptor 3 until its end, which comes when the runner
 * closes it or dies, and then kills the whole group. The command replaces the shell, so that its
 * exit is seen as it is and its pid is the group's; its own standard input is empty.
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
  // The watcher may be gone first: a pipe without reader is no trouble of the runner's.
  child.stdin.on("error", () => {});
  return child;
}

/** A group that has gone already is an ordinary result. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
