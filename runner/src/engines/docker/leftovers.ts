/** Which containers are a runner's, and the removal of those that a process has left. */
import type Dockerode from "dockerode";
import type { Log } from "../../lib/log.ts";
import { ignoreStatus } from "./ignore-status.ts";

/** Has the runner's name as its value. */
const RUNNER_LABEL = "auspex.runner";
/** Has the process that started it as its value. */
const PROCESS_LABEL = "auspex.process";

interface LeftoversOptions {
  runner: string;
  process: string;
  log: Log;
}

export class Leftovers {
  readonly #docker: Dockerode;
  readonly #options: LeftoversOptions;

  constructor(docker: Dockerode, options: LeftoversOptions) {
    this.#docker = docker;
    this.#options = options;
  }

  /** Of a container that this process starts. */
  get labels(): Record<string, string> {
    const { runner, process } = this.#options;
    return { [RUNNER_LABEL]: runner, [PROCESS_LABEL]: process };
  }

  /** @param spares whether a container is that of a process that lives */
  async sweep(
    spares: (process: string | undefined, id: string) => boolean = () => false,
  ): Promise<void> {
    const { runner, log } = this.#options;
    const filters = { label: [`${RUNNER_LABEL}=${runner}`] };
    for (const { Id, Labels } of await this.#docker.listContainers({ all: true, filters })) {
      if (spares(Labels[PROCESS_LABEL], Id)) continue;
      log.warn("removing a container of an earlier runner process", {
        container: Id.slice(0, 12),
      });
      // Its process may have been about to do so.
      await ignoreStatus([404], this.#docker.getContainer(Id).remove({ force: true, v: true }));
    }
  }
}
