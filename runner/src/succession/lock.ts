/**
 * Locks of this machine, by name. Linux only, elsewhere they are always free: an abstract socket belongs
 * to one process and goes with it, however that ends. Any user may take one: they keep processes of one
 * user apart, and prove nothing.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { sleep } from "../../../src/lib/timeout.ts";

const AGAIN_MS = 200;

export interface Lock {
  /** Not needed by a process that ends. */
  release(): Promise<void>;
}

/** @returns undefined while another process has it */
export async function tryLock(what: string): Promise<Lock | undefined> {
  if (process.platform !== "linux") return { async release() {} };
  const name = `\0auspex-runner-${createHash("sha256").update(what).digest("hex").slice(0, 32)}`;
  const server = createServer((socket) => socket.destroy()).unref();
  try {
    server.listen(name);
    await once(server, "listening");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EADDRINUSE") return undefined;
    throw error;
  }
  return {
    async release() {
      const closed = once(server, "close");
      server.close();
      await closed;
    },
  };
}

/** @returns undefined when the signal was aborted first */
export async function lock(
  what: string,
  stop: AbortSignal,
  onWait = () => {},
): Promise<Lock | undefined> {
  for (let tries = 0; !stop.aborted; tries++) {
    const taken = await tryLock(what);
    if (taken) return taken;
    if (tries === 0) onWait();
    await sleep(AGAIN_MS, stop);
  }
  return undefined;
}
