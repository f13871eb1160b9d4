/**
 * One process at a time: what a runner finds under its name when it starts, it takes for the remains of
 * an earlier process, and removes. So it waits until that has ended, which may still drain.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { sleep } from "../../../src/lib/timeout.ts";
import type { Log } from "./log.ts";

const AGAIN_MS = 500;

export interface Turn {
  /** Not needed by a process that ends. */
  release(): void;
}

/**
 * Linux only, elsewhere it does not wait: an abstract socket belongs to one process and goes with it,
 * however that ends.
 * @returns undefined when the signal was aborted first
 */
export async function becomeOnly(
  what: string,
  log: Log,
  stop: AbortSignal,
): Promise<Turn | undefined> {
  if (process.platform !== "linux") return { release() {} };
  const name = `\0auspex-runner-${createHash("sha256").update(what).digest("hex").slice(0, 32)}`;
  for (let tries = 0; !stop.aborted; tries++) {
    const server = createServer((socket) => socket.destroy()).unref();
    try {
      server.listen(name);
      await once(server, "listening");
      return { release: () => void server.close() };
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EADDRINUSE")) throw error;
      if (tries === 0)
        log.warn(
          "another process of this runner is still there, waiting until it has ended: stop it, or give this one its own --name",
        );
      await sleep(AGAIN_MS, stop);
    }
  }
  return undefined;
}
