/** The Docker engine: runs each container in the sandbox, on the runner's own network. */
import Dockerode from "dockerode";
import type { Image } from "../../../../src/protocol/runner.ts";
import { type Failure, internal } from "../../../../src/run/failure.ts";
import type { EvictionSource } from "../../disk/evictable.ts";
import { messageOf } from "../../lib/error.ts";
import type { Log } from "../../lib/log.ts";
import {
  type ContainerHandle,
  type Engine,
  ImageGone,
  type ImageRequest,
  type LaunchOptions,
  type Left,
  type OpenEngine,
  type ReportProgress,
  type RunningContainer,
  referenceOf,
} from "../engine.ts";
import { exposedPort, listenVariables } from "../listen-address.ts";
import { DEFAULT_SANDBOX, DEFAULT_SOCKET, type DockerOptions, type Sandbox } from "../options.ts";
import { ContainerCreator, HOST_NAME } from "./container-creator.ts";
import { watchDisk } from "./disk.ts";
import { DockerContainer, Leftovers } from "./docker-container.ts";
import { NO_GPU, startFailure } from "./failures.ts";
import { FIREWALL_ADVICE, FirewallGuard, firewallProblem, NO_FIREWALL } from "./firewall.ts";
import { gpuAccess } from "./gpus.ts";
import { COG_COMMAND, imageFacts } from "./image.ts";
import { DockerImages } from "./images.ts";
import {
  DOCKER_ADVICE,
  describeIsolation,
  diskShare,
  dockerInfo,
  machineOf,
  noDocker,
  RUNTIME_ADVICE,
  runtimeOf,
  runtimeProblem,
} from "./info.ts";
import { Networks } from "./networks.ts";

/** A check takes 15 ms, mostly for starting iptables. */
const WATCH_INTERVAL_MS = 5_000;

const EGRESS_NOT_ENFORCED =
  "the version limits what its containers can reach (configuration.egress), which this runner " +
  "cannot enforce without a firewall: run it without --firewall off, or publish a version " +
  'with the egress "public"';

/**
 * The DNS server of containers without egress: an address that is never assigned (RFC 5737). Docker's own
 * resolver may query from outside the container, where no rule applies, and a query can carry data out.
 */
const UNREACHABLE_DNS = ["192.0.2.1"];

export class DockerEngine implements Engine {
  readonly noMounts = undefined;
  readonly #socket: string;
  readonly #docker: Dockerode;
  readonly #runner: string;
  readonly #leftovers: Leftovers;
  readonly #port: number;
  readonly #sandbox: Sandbox;
  readonly #firewallMode: NonNullable<DockerOptions["firewall"]>;
  readonly #log: Log;
  #networks: Networks | undefined;
  /** The address that HOST_NAME resolves to in containers. */
  #hostAddress = "";
  #firewall: FirewallGuard | undefined;
  readonly #watchIntervalMs: number;
  readonly #running = new Set<DockerContainer>();
  /** Docker's GET /info. */
  #info: unknown;
  /** The bytes that each container may write; 0: unlimited. */
  #diskBytes = 0;
  readonly #containers: number;
  #endDiskWatch = () => {};
  readonly #creator: ContainerCreator;
  readonly #images: DockerImages;

  /** @param others evictables that may be removed too when the images' disk is full, if they are on it */
  constructor(
    runner: string,
    options: DockerOptions,
    log: Log,
    others: readonly EvictionSource[] = [],
  ) {
    this.#socket = options.socket ?? DEFAULT_SOCKET;
    this.#docker = new Dockerode({ socketPath: this.#socket });
    this.#runner = runner;
    this.#leftovers = new Leftovers(this.#docker, runner, log);
    this.#port = options.port ?? 5_000;
    this.#firewallMode = options.firewall ?? "required";
    this.#sandbox = { ...DEFAULT_SANDBOX, ...options.sandbox };
    this.#containers = options.containers ?? 1;
    this.#watchIntervalMs = options.watch_interval_ms ?? WATCH_INTERVAL_MS;
    this.#log = log;
    this.#creator = new ContainerCreator(this.#docker, log);
    this.#images = new DockerImages({
      docker: this.#docker,
      runner,
      engine: options,
      others,
      watchIntervalMs: this.#watchIntervalMs,
      log,
    });
  }

  imageDisk = () => this.#images.disk();
  imageBytes = () => this.#images.bytes();

  async open(listen: (host: string) => Promise<number>, left?: Left): Promise<OpenEngine> {
    this.#info = await this.#docker.info().catch((error: unknown) => {
      throw internal(`${noDocker(this.#socket, error)}: ${DOCKER_ADVICE}`);
    });
    const info = dockerInfo.parse(this.#info);
    const problem = runtimeProblem(info, this.#sandbox);
    if (problem !== undefined) throw internal(`${problem}: ${RUNTIME_ADVICE}`);
    const [containers, sandbox] = [this.#containers, this.#sandbox];
    this.#diskBytes = await diskShare(info, { containers, sandbox });
    const { detail, advice } = describeIsolation(info, sandbox);
    this.#log[advice ? "warn" : "info"](detail, { advice });
    await this.#images.open(info);
    const networks = await Networks.open(this.#docker, this.#runner, this.#log);
    this.#networks = networks;
    this.#hostAddress = networks.gateway;
    const port = await this.#listen(listen, networks.gateway);
    const kept = await this.#leftovers.sweep(port === left?.port ? left.containers : []);
    await this.#installFirewall(networks, port);
    const maxBytes = this.#diskBytes;
    if (maxBytes > 0) {
      this.#endDiskWatch = watchDisk({
        docker: this.#docker,
        maxBytes,
        intervalMs: this.#watchIntervalMs,
        running: () => [...this.#running],
        log: this.#log,
      });
    }
    return { url: new URL(`http://${HOST_NAME}:${port}`), machine: machineOf(info), kept };
  }

  async #installFirewall(networks: Networks, port: number): Promise<void> {
    if (this.#firewallMode === "off") {
      this.#log.warn("no firewall: containers can reach this machine and its private network");
      return;
    }
    const problem = await firewallProblem();
    if (problem !== undefined) throw internal(`${NO_FIREWALL}: ${problem}. ${FIREWALL_ADVICE}`);
    this.#firewall = new FirewallGuard({
      rules: () => networks.rules(port, this.#sandbox.egress),
      intervalMs: this.#watchIntervalMs,
      onBreach: (reason) => this.#killAll(reason),
      log: this.#log,
    });
    await this.#firewall.install();
  }

  #killAll(reason: Failure): void {
    for (const container of this.#running) {
      container.killFor(reason).catch((error: unknown) => {
        this.#log.error("could not kill a container", { error });
      });
    }
  }

  /**
   * If Docker runs in a VM, the gateway is not on this machine, but Docker forwards to the loopback
   * address.
   */
  async #listen(listen: (host: string) => Promise<number>, gateway: string): Promise<number> {
    try {
      return await listen(gateway);
    } catch (error) {
      const isRemote = error instanceof Error && "code" in error && error.code === "EADDRNOTAVAIL";
      if (!isRemote) throw error;
      this.#hostAddress = "host-gateway";
      return listen("127.0.0.1");
    }
  }

  images(): Promise<string[]> {
    return this.#images.list();
  }

  pull(request: ImageRequest, report: ReportProgress, signal: AbortSignal): Promise<number> {
    return this.#images.pull(request, report, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw startFailure(error);
    });
  }

  async start(options: LaunchOptions, signal: AbortSignal): Promise<RunningContainer> {
    try {
      return await this.#start(options, signal);
    } finally {
      this.#images.started(signal);
    }
  }

  async #start(options: LaunchOptions, signal: AbortSignal): Promise<RunningContainer> {
    const { image, hardware, variables, uploadUrl, egress, mounts, lease } = options;
    const { interface: kind } = options;
    const inspected = await this.#images.find(image).catch((error: unknown) => {
      throw startFailure(error);
    });
    if (!inspected) throw new ImageGone(image);
    const networks = this.#networks;
    if (!networks) throw internal("the Docker engine is not open");
    const isOpen = egress === "public";
    if (!isOpen && !this.#firewall) throw internal(EGRESS_NOT_ENFORCED);
    const network = await networks.ensure(isOpen ? "open" : "closed").catch((error: unknown) => {
      throw startFailure(error);
    });
    await this.#firewall?.ensure();
    const facts = imageFacts(
      inspected.Config.Labels ?? {},
      inspected.Config.Env,
      mounts.length > 0,
    );
    const flags = facts.uploads ? [`--upload-url=${uploadUrl}`] : [];
    const gpus = gpuAccess(lease.gpus, this.#info);
    const exposed = kind === "vendora" ? exposedPort(inspected.Config.ExposedPorts) : undefined;
    const port = exposed ?? this.#port;
    try {
      const { container, stdin } = await this.#creator.create({
        image: inspected,
        reference: referenceOf(image),
        command: facts.cog ? [...COG_COMMAND, ...flags] : undefined,
        variables,
        environment: {
          ...options.environment,
          ...gpus.environment,
          ...listenVariables(kind, "0.0.0.0", port),
        },
        labels: this.#leftovers.labels(image),
        user: this.#sandbox.user,
        host: {
          sandbox: { ...this.#sandbox, runtime: runtimeOf(this.#sandbox, hardware.identifier) },
          share: lease,
          network,
          dns: isOpen ? this.#sandbox.dns : UNREACHABLE_DNS,
          hostAddress: this.#hostAddress,
          port,
          deviceRequests: gpus.requests,
          mounts,
        },
        disk_bytes: this.#diskBytes,
      });
      const lacksGpu = facts.gpu === "needed" && lease.gpus.length === 0;
      const setupAdvice = lacksGpu ? NO_GPU : undefined;
      const start = { kind, port, stdin, setupAdvice };
      return this.#watched(await DockerContainer.start(container, start, signal), image);
    } catch (error) {
      signal.throwIfAborted();
      if (/no such image/i.test(messageOf(error))) throw new ImageGone(image, { cause: error });
      throw startFailure(error);
    }
  }

  adopt({ id, address }: ContainerHandle, image: Image): RunningContainer {
    const container = this.#docker.getContainer(id);
    return this.#watched(DockerContainer.adopt(container, new URL(address)), image);
  }

  #watched(running: DockerContainer, image: Image): DockerContainer {
    this.#running.add(running);
    void running.exited.then(() => {
      this.#running.delete(running);
      return this.#images.ended(image);
    });
    return running;
  }

  async memory(signal: AbortSignal): Promise<ReadonlyMap<RunningContainer, number>> {
    const used = new Map<RunningContainer, number>();
    // All containers are measured at once: Docker before 23 answers only when the next second begins.
    await Promise.allSettled(
      Array.from(this.#running, async (one) => used.set(one, await one.memory(signal))),
    );
    return used;
  }

  async close(leaves = false): Promise<void> {
    this.#endDiskWatch();
    this.#images.close();
    if (leaves) return this.#firewall?.stop();
    await this.#leftovers.sweep();
    if (!this.#networks) return;
    await this.#networks.close();
    await this.#firewall?.remove();
    this.#networks = undefined;
  }
}
