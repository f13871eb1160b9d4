/** The models that a runner has running: processes, or containers. */
import { docker } from "../../docker/registry.ts";
import { processesIn } from "../../processes/processes-in.ts";

export interface Running {
  /** What there is, also what has ended and was not cleared away. */
  list(): Promise<string[]>;
  /** One that has ended in this moment cannot be killed. */
  kill(one: string): Promise<void>;
}

export const processes = (folder: string): Running => ({
  list: async () => processesIn(folder).map(String),
  async kill(pid) {
    process.kill(Number(pid), "SIGKILL");
  },
});

/** The filter for what the Docker engine has made for a runner (runner/src/engines/docker). */
export const labelOf = (runner: string) => `label=auspex.runner=${runner}`;

/** @param runner its name */
export const containers = (runner: string): Running => ({
  async list() {
    const listed = await docker("ps", "--all", "--quiet", "--filter", labelOf(runner));
    return listed.split("\n").filter((id) => id !== "");
  },
  async kill(id) {
    await docker("kill", id);
  },
});
