/** Creates containers, with as much of the sandbox as this Docker and the image support. */
import type Dockerode from "dockerode";
import type { Share } from "../../devices/share.ts";
import type { Log } from "../../lib/log.ts";
import type { Mount } from "../engine.ts";
import type { Sandbox } from "../options.ts";
import { isQuotaUnsupported } from "./disk.ts";
import { SHELL } from "./docker-container.ts";
import { ignoreStatus } from "./errors.ts";

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

/** Names and values arrive as one line, in which "$n" stands for line breaks in values. */
const SCRIPT = `n='
'; IFS= read -r s || exit 1; eval "exec env $s \\"\\$@\\" </dev/null"`;

/**
 * Passes a model's variables to a container without a trace: `docker inspect` shows a container's
 * configuration to everyone with access to Docker, and Docker writes it to disk. So a shell of the
 * image reads the variables from its standard input and then executes the image's command. This
 * needs /bin/sh and env in the image; other images get the variables in their configuration.
 * Replaces the corresponding fields of the container.
 */
function hideVariables(command: readonly string[]) {
  return {
    Entrypoint: [SHELL, "-c", SCRIPT, "sh"],
    Cmd: [...command],
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
  };
}

/** The line that the shell reads. */
const variablesLine = (variables: Record<string, string>): string =>
  `${Object.entries(variables)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(" ")}\n`;

const quote = (value: string): string =>
  `'${value.replaceAll("'", `'\\''`).replaceAll("\n", `'"$n"'`)}'`;

function startCommand(
  { Entrypoint, Cmd }: { Entrypoint?: string | string[] | null; Cmd?: string[] | null },
  instead?: readonly string[],
): string[] {
  const entrypoint = typeof Entrypoint === "string" ? [Entrypoint] : (Entrypoint ?? []);
  return [...entrypoint, ...(instead ?? Cmd ?? [])];
}

interface HostConfigOptions {
  sandbox: Sandbox;
  share: Share;
  /** The bytes that the container may write, enforced by the storage driver; 0: the driver sets no limit. */
  quota_bytes: number;
  network: string;
  /** The DNS servers that Docker queries for the container. */
  dns: readonly string[];
  hostAddress: string;
  port: number;
  deviceRequests: Dockerode.DeviceRequest[];
  mounts: readonly Mount[];
}

/** The name of the host machine inside containers. */
export const HOST_NAME = "host.docker.internal";

export function hostConfig(options: HostConfigOptions): Dockerode.HostConfig {
  const { sandbox, share, quota_bytes, network, dns, hostAddress, port, mounts } = options;
  return {
    NetworkMode: network,
    ExtraHosts: [`${HOST_NAME}:${hostAddress}`],
    PortBindings: { [`${port}/tcp`]: [{ HostIp: "127.0.0.1", HostPort: "" }] },
    Dns: [...dns],
    CapDrop: ["ALL"],
    CapAdd: [...sandbox.capabilities],
    SecurityOpt: ["no-new-privileges"],
    ReadonlyRootfs: sandbox.readonly_rootfs,
    Memory: share.memory_bytes,
    // No swap: a model that swaps slows down the whole machine.
    MemorySwap: share.memory_bytes,
    NanoCpus: Math.round(share.cpus * 1e9),
    ...(quota_bytes > 0 ? { StorageOpt: { size: String(quota_bytes) } } : {}),
    ...(sandbox.runtime === undefined ? {} : { Runtime: sandbox.runtime }),
    PidsLimit: sandbox.pids,
    ShmSize: share.shm_bytes,
    LogConfig: { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } },
    // Mounts, unlike Binds, make no folder for a missing source, and accept any character.
    Mounts: mounts.map(({ source: Source, target: Target }) => {
      return { Type: "bind", Source, Target, ReadOnly: true };
    }),
    DeviceRequests: options.deviceRequests,
  };
}
