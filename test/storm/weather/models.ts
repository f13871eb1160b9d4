/** The running models of a runner: processes, or containers. */
import { docker } from "../../docker/registry.ts";
import { processesIn } from "../../processes/processes-in.ts";

export interface Running {
  /** Lists all models, also those that have ended and were not cleared away. */
  list(): Promise<string[]>;
  /** Kills a model, or does nothing if it has just ended. */
  kill(one: string): Promise<void>;
}

export const processes = (folder: string): Running => ({
  list: async () => processesIn(folder).map(String),
  async kill(pid) {
    process.kill(Number(pid), "SIGKILL");
  },
});

/**
 * Returns the filter for the Docker engine's containers and networks of a runner (runner/src/engines/docker).
 */
export const labelOf = (runner: string) => `label=auspex.runner=${runner}`;

/** @param runner the runner's name */
export const containers = (runner: string): Running => ({
  async list() {
    const listed = await docker("ps", "--all", "--quiet", "--filter", labelOf(runner));
    return listed.split("\n").filter((id) => id !== "");
  },
  async kill(id) {
    await docker("kill", id);
  },
});
