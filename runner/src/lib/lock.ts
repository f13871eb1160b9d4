/**
 * `lock` lets only one process of a runner work at a time. On Linux, an abstract socket belongs to one
 * process and disappears with it, however the process ends. On other systems the lock is always free.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { sleep } from "../../../src/lib/timeout.ts";

const AGAIN_MS = 200;

/**
 * Takes the lock until this process ends. Any user of the machine can take it: the lock keeps two processes
 * of one user apart, and proves nothing.
 * @param onWait called once if another process has the lock
 * @returns false when the signal was aborted first
 */
export async function lock(what: string, stop: AbortSignal, onWait: () => void): Promise<boolean> {
  for (let tries = 0; !stop.aborted; tries++) {
    if (await tryLock(what)) return true;
    if (tries === 0) onWait();
    await sleep(AGAIN_MS, stop);
  }
  return false;
}

async function tryLock(what: string): Promise<boolean> {
  if (process.platform !== "linux") return true;
  const name = `\0auspex-runner-${createHash("sha256").update(what).digest("hex").slice(0, 32)}`;
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    server.listen(name);
    await once(server, "listening");
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return false;
    throw error;
  }
}
