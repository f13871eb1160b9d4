/** Clients of registries and engines, as Debian packages them. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/** CI requires all clients, so that the absence of one cannot pass for success. */
export const hasClient = (name: string): boolean =>
  process.env.AUSPEX_REQUIRE_DOCKER === "1" || existsSync(`/usr/bin/${name}`);

/** @returns a function that runs podman or buildah with a store of its own, and returns the output */
export function withStore(client: "podman" | "buildah", folder: string) {
  const [root, runroot] = [join(folder, client), join(folder, `${client}-run`)];
  const own = ["--storage-driver", "vfs", "--root", root, "--runroot", runroot];
  return async (...args: string[]): Promise<string> =>
    (await run(client, [...own, ...args])).stdout.trim();
}

/** A containerd of its own, which ends with the test, and its client. */
export class Containerd {
  readonly #child: ChildProcess;
  readonly #socket: string;

  static async start(folder: string): Promise<Containerd> {
    const containerd = new Containerd(folder);
    for (let tries = 0; ; tries++) {
      try {
        await containerd.ctr("version");
        return containerd;
      } catch (error) {
        if (tries === 100) {
          await containerd.stop();
          throw error;
        }
      }
      await sleep(100);
    }
  }

  private constructor(folder: string) {
    this.#socket = join(folder, "containerd.sock");
    const [root, state] = [join(folder, "containerd"), join(folder, "containerd-run")];
    const own = ["--root", root, "--state", state, "--address", this.#socket];
    this.#child = spawn("containerd", own, { stdio: "ignore" });
    // A containerd that cannot start never answers.
    this.#child.on("error", () => {});
  }

  async ctr(...args: string[]): Promise<string> {
    return (await run("ctr", ["--address", this.#socket, ...args])).stdout.trim();
  }

  async stop(): Promise<void> {
    if (this.#child.pid === undefined || this.#child.exitCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill();
    await exited;
  }
}
