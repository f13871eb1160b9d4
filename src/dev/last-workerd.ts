/**
 * The workerd that serves a state folder. A workerd whose Node process is killed runs on for half a minute: a
 * second one on the same state would run at the same time, and predictions would be lost between the two.
 */
import { execFileSync } from "node:child_process";
import { subscribe } from "node:diagnostics_channel";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { retry } from "../lib/retry.ts";

const lastWorkerd = z.object({ pid: z.int().positive(), identity: z.string() });

const spawned = z.object({
  process: z.object({ spawnfile: z.string().optional(), pid: z.int().optional() }),
});

const fileIn = (folder: string) => join(folder, "workerd.json");

/** Notes each workerd that this process starts from now on: Miniflare starts another when one crashes. */
export function noteWorkerd(folder: string): void {
  subscribe("child_process", (message) => {
    // The process has its name and pid a moment later.
    setImmediate(() => {
      const { spawnfile, pid } = spawned.parse(message).process;
      if (pid === undefined || !spawnfile?.endsWith("workerd")) return;
      writeFileSync(fileIn(folder), JSON.stringify({ pid, identity: identityOf(pid) }));
    });
  });
}

/** Ends the workerd of an earlier start that was killed. */
export async function endLastWorkerd(folder: string): Promise<void> {
  if (!existsSync(fileIn(folder))) return;
  const { pid, identity } = lastWorkerd.parse(JSON.parse(readFileSync(fileIn(folder), "utf8")));
  await retry(
    async () => {
      // Another process may have the same pid by now.
      if (identityOf(pid) !== identity) return;
      process.kill(pid, "SIGKILL");
      throw new Error(`workerd (process ${pid}) of an earlier start does not end`);
    },
    {
      attempts: 50,
      baseMs: 20,
      maxMs: 200,
      signal: new AbortController().signal,
      isRetryable: () => true,
    },
  );
}

/** Returns the program and the start time of a process, which no other process has. Empty: there is none. */
function identityOf(pid: number): string {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state === "Z" ? "" : `workerd ${rest[18]}`;
    }
    return execFileSync("ps", ["-p", String(pid), "-o", "lstart=,comm="], { encoding: "utf8" });
  } catch {
    return "";
  }
}
