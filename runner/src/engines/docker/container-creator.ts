/** Makes containers, with as much of the sandbox as this Docker and the image allow. */
import type Dockerode from "dockerode";
import type { Log } from "../../lib/log.ts";
import { isQuotaUnsupported } from "./disk.ts";
import { hideVariables, SHELL, startCommand, variablesLine } from "./hidden-variables.ts";
import { ignoreStatus } from "./ignore-status.ts";
import { type HostConfigOptions, hostConfig } from "./sandbox.ts";

export interface ContainerPlan {
  image: Dockerode.ImageInspectInfo;
  /** What it is called, for the log. */
  reference: string;
  /** In the place of the image's CMD. */
  command: readonly string[] | undefined;
  /** The model's, and not to be seen. */
  variables: Record<string, string>;
  environment: Record<string, string>;
  labels: Record<string, string>;
  user: string | undefined;
  host: Omit<HostConfigOptions, "quota">;
}

export interface CreatedContainer {
  container: Dockerode.Container;
  /** What it is to find on its standard input. */
  stdin?: string;
}

export class ContainerCreator {
  readonly #docker: Dockerode;
  readonly #log: Log;
  /** Until it has turned out that the storage driver has none. */
  #hasQuota = true;
  /** Ids of images that no variables can be hidden in. */
  readonly #withoutShell = new Set<string>();

  constructor(docker: Dockerode, log: Log) {
    this.#docker = docker;
    this.#log = log;
  }

  async create(plan: ContainerPlan): Promise<CreatedContainer> {
    const { image, command, reference } = plan;
    // The runner's own are above them.
    const free = Object.entries(plan.variables).filter(([name]) => !(name in plan.environment));
    const variables = Object.fromEntries(free);
    const start = startCommand(image.Config, command);
    if (free.length > 0 && start.length > 0 && !this.#withoutShell.has(image.Id)) {
      const container = await this.#make(plan, hideVariables(start));
      if (await ignoreStatus([404], container.infoArchive({ path: SHELL }))) {
        return { container, stdin: variablesLine(variables) };
      }
      await container.remove({ force: true, v: true });
      this.#withoutShell.add(image.Id);
      const why = `the image has no ${SHELL}, so docker inspect shows the variables of its model`;
      this.#log.warn(why, { image: reference });
    }
    const planWithVariables = { ...plan, environment: { ...variables, ...plan.environment } };
    return { container: await this.#make(planWithVariables, command ? { Cmd: [...command] } : {}) };
  }

  async #make(
    plan: ContainerPlan,
    start: Dockerode.ContainerCreateOptions,
  ): Promise<Dockerode.Container> {
    const { image, environment, labels, user, host } = plan;
    const make = (quota: boolean) =>
      this.#docker.createContainer({
        // By the id that was looked at, not by a name that may come to mean another image.
        Image: image.Id,
        ...start,
        ...(user === undefined ? {} : { User: user }),
        Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        Labels: labels,
        ExposedPorts: { [`${host.port}/tcp`]: {} },
        HostConfig: hostConfig({ ...host, quota }),
      });
    const quota = this.#hasQuota && host.shares.disk_bytes > 0;
    try {
      return await make(quota);
    } catch (error) {
      // By what was asked for: of several that begin together, the first to return finds it out.
      if (!quota || !isQuotaUnsupported(error)) throw error;
      if (this.#hasQuota)
        this.#log.info("Docker's storage driver has no quota: what containers write is watched");
      this.#hasQuota = false;
      return make(false);
    }
  }
}
