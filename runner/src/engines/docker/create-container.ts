/** Makes containers, with as much of the sandbox as this Docker and the image allow. */
import type Dockerode from "dockerode";
import type { Log } from "../../lib/log.ts";
import { hasNoQuota } from "./disk.ts";
import { commandOf, hidden, lineOf, SHELL } from "./hidden-variables.ts";
import { ignoring } from "./ignore-status.ts";
import { type HostConfigOptions, hostConfig } from "./sandbox.ts";

export interface Plan {
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

export interface Created {
  container: Dockerode.Container;
  /** What it is to find on its standard input. */
  line?: string;
}

export class Creation {
  readonly #docker: Dockerode;
  readonly #log: Log;
  /** Until it has turned out that the storage driver has none. */
  #quota = true;
  /** Ids of images that no variables can be hidden in. */
  readonly #bare = new Set<string>();

  constructor(docker: Dockerode, log: Log) {
    this.#docker = docker;
    this.#log = log;
  }

  async create(plan: Plan): Promise<Created> {
    const { image, command, reference } = plan;
    // The runner's own are above them.
    const free = Object.entries(plan.variables).filter(([name]) => !(name in plan.environment));
    const variables = Object.fromEntries(free);
    const start = commandOf(image.Config, command);
    if (free.length > 0 && start.length > 0 && !this.#bare.has(image.Id)) {
      const container = await this.#make(plan, hidden(start));
      if (await ignoring([404], container.infoArchive({ path: SHELL }))) {
        return { container, line: lineOf(variables) };
      }
      await container.remove({ force: true, v: true });
      this.#bare.add(image.Id);
      const why = `the image has no ${SHELL}, so docker inspect shows the variables of its model`;
      this.#log.warn(why, { image: reference });
    }
    const given = { ...plan, environment: { ...variables, ...plan.environment } };
    return { container: await this.#make(given, command ? { Cmd: [...command] } : {}) };
  }

  async #make(plan: Plan, start: Dockerode.ContainerCreateOptions): Promise<Dockerode.Container> {
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
    const quota = this.#quota && host.shares.disk_bytes > 0;
    try {
      return await make(quota);
    } catch (error) {
      // By what was asked for: of several that begin together, the first to return finds it out.
      if (!quota || !hasNoQuota(error)) throw error;
      if (this.#quota)
        this.#log.info("Docker's storage driver has no quota: what containers write is watched");
      this.#quota = false;
      return make(false);
    }
  }
}
