/** The floor (worker/floor.ts) with its runner and its container, which are processes like Auspex's own. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ROOT } from "../../src/dev/bundle.ts";
import { bundleWorker, startBare } from "./bed.ts";

export async function startFloor() {
  const deployment = await startBare(await bundleWorker("floor"));
  const runner = fork(join(ROOT, "test/bench/floor-runner.ts"), [deployment.url]);
  await once(runner, "message");
  const post = async (path: string) => {
    const response = await fetch(deployment.url + path, { method: "POST" });
    return response.text();
  };
  const expectOk = async (path: string) => {
    if ((await post(path)) !== "ok") throw new Error("the floor gave way");
  };
  const object = await post("/v1/object");
  return {
    /** Does what a no-op prediction does. */
    run: () => expectOk("/v1/run"),
    /** Calls an object, which answers at once. */
    touch: () => expectOk(`/v1/touch/${object}`),
    async stop() {
      await end(runner);
      await deployment.stop();
    },
  };
}

/** Ends a process that ends its own children when it is disconnected. */
async function end(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
