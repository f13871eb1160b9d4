/** Creates containers, with as much of the sandbox as this Docker and the image support. */
import type Dockerode from "dockerode";
import type { Log } from "../../lib/log.ts";
import { isQuotaUnsupported } from "./disk.ts";
import { hideVariables, SHELL, startCommand, variablesLine } from "./hidden-variables.ts";
import { ignoreStatus } from "./ignore-status.ts";
import { type HostConfigOptions, hostConfig } from "./sandbox.ts";

export interface ContainerPlan {
  image: Dockerode.ImageInspectInfo;
  /** The name of the image in the log. */
  reference: string;
  /** Replaces the image's CMD. */
  command: readonly string[] | undefined;
  /** The model's variables, which must stay hidden. */
  variables: Record<string, string>;
  environment: Record<string, string>;
  labels: Record<string, string>;
  user: string | undefined;
  host: Omit<HostConfigOptions, "quota_bytes">;
  /** The bytes that the container may write; 0: unlimited. */
  disk_bytes: number;
}

export interface CreatedContainer {
  container: Dockerode.Container;
  /** To be written to its standard input. */
  stdin?: string;
}

export class ContainerCreator {
  readonly #docker: Dockerode;
  readonly #log: Log;
  /** False once the storage driver has turned out not to support quotas. */
  #hasQuota = true;
  /** Ids of images without a shell, in which variables cannot be hidden. */
  readonly #withoutShell = new Set<string>();

  constructor(docker: Dockerode, log: Log) {
    this.#docker = docker;
    this.#log = log;
  }

  async create(plan: ContainerPlan): Promise<CreatedContainer> {
    const { image, command, reference } = plan;
    // The runner's own variables take precedence.
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
      const why = `the image has no ${SHELL}, so docker inspect shows its model's variables`;
      this.#log.warn(why, { image: reference });
    }
    const planWithVariables = { ...plan, environment: { ...variables, ...plan.environment } };
    return { container: await this.#make(planWithVariables, command ? { Cmd: [...command] } : {}) };
  }

  async #make(
    plan: ContainerPlan,
    start: Dockerode.ContainerCreateOptions,
  ): Promise<Dockerode.Container> {
    const { image, environment, labels, user, host, disk_bytes } = plan;
    const make = (quota_bytes: number) =>
      this.#docker.createContainer({
        // The image is named by its ID, since its name may come to mean another image.
        Image: image.Id,
        ...start,
        ...(user === undefined ? {} : { User: user }),
        Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
        Labels: labels,
        ExposedPorts: { [`${host.port}/tcp`]: {} },
        HostConfig: hostConfig({ ...host, quota_bytes }),
      });
    const quota = this.#hasQuota && disk_bytes > 0;
    try {
      return await make(quota ? disk_bytes : 0);
    } catch (error) {
      // Check what this call asked for: of several concurrent calls, the first to return finds it
      // out.
      if (!quota || !isQuotaUnsupported(error)) throw error;
      if (this.#hasQuota)
        this.#log.info(
          "Docker's storage driver has no quotas: checking regularly what containers write",
        );
      this.#hasQuota = false;
      return make(0);
    }
  }
}
