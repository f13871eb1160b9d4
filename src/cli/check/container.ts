/** A container on this machine, which runs until its server has answered. */
import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { SHM_BYTES } from "../../../runner/src/devices/share.ts";
import { hasNvidia } from "../../../runner/src/engines/docker/gpus.ts";
import { COG_COMMAND, imageFacts } from "../../../runner/src/engines/docker/image.ts";
import { TABLES } from "../../../runner/src/engines/docker/listening-in.ts";
import { exitText } from "../../../runner/src/engines/engine.ts";
import {
  addressesOf,
  exposedPort,
  listeningOf,
  listeningSockets,
  listenVariables,
} from "../../../runner/src/engines/listen-address.ts";
import { LogTail } from "../../../runner/src/engines/log-tail.ts";
import { DEFAULT_SANDBOX } from "../../../runner/src/engines/options.ts";
import { cogEnvironment } from "../../../runner/src/interfaces/cog/ready.ts";
import type { Listening } from "../../../runner/src/interfaces/listen-watch.ts";
import type { ImageConfig } from "../../protocol/oci.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import { external } from "../../run/failure.ts";
import { type EngineName, outputOf, start } from "../image/engine.ts";

export interface ContainerPlan {
  image: string;
  /** Replaces the image's CMD. */
  command: readonly string[];
  environment: Record<string, string>;
  /** Names of variables whose values are not for the list of processes: the engine's command reads them. */
  variables: readonly string[];
  port: number;
  spoken: ContainerInterface;
  /** Further flags of the engine's `run`. */
  flags: readonly string[];
}

/** Time limit for the removal of a container. */
const REMOVE_MS = 60_000;

export class TrialContainer {
  readonly address: URL;
  readonly logs = new LogTail();
  readonly #command: (...args: string[]) => string[];
  readonly #name: string;
  readonly #ended = new AbortController();
  readonly #removed = new AbortController();
  readonly listening: Listening;

  /** Starts a container, and removes it when `use` has ended or failed. */
  static async with<Result>(
    engine: EngineName,
    plan: ContainerPlan,
    use: (container: TrialContainer) => Promise<Result>,
  ): Promise<Result> {
    const name = `auspex-check-${randomUUID()}`;
    const command = (...args: string[]) => [engine, ...args];
    try {
      const container = await TrialContainer.#start(command, name, plan);
      try {
        return await use(container);
      } finally {
        container.#removed.abort();
      }
    } finally {
      await remove(command, name);
    }
  }

  /** The start is not interrupted: the removal has to know whether the container exists. */
  static async #start(
    command: (...args: string[]) => string[],
    name: string,
    plan: ContainerPlan,
  ): Promise<TrialContainer> {
    const options = { signal: new AbortController().signal, detached: true };
    await outputOf(command("run", "--detach", "--name", name, ...argumentsOf(plan)), options);
    // A container that exits at once has no port; the error of its exit says why.
    const port = await outputOf(command("port", name, `${plan.port}/tcp`), options).catch(() => "");
    const [address = "127.0.0.1:9"] = port.match(/127\.0\.0\.1:\d+/) ?? [];
    const addresses = async () => {
      const tables = await outputOf(command("exec", name, "cat", ...TABLES), options);
      return addressesOf(listeningSockets(tables));
    };
    const listening = listeningOf(plan.spoken, { host: "0.0.0.0", port: plan.port, addresses });
    return new TrialContainer(command, name, new URL(`http://${address}`), listening);
  }

  private constructor(
    command: (...args: string[]) => string[],
    name: string,
    address: URL,
    listening: Listening,
  ) {
    this.#command = command;
    this.#name = name;
    this.address = address;
    this.listening = listening;
    void this.#watch();
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#removed;
    const following = start(this.#command("logs", "--follow", this.#name), { signal });
    for (const stream of [following.stdout, following.stderr])
      stream.on("data", (chunk: Buffer) => this.logs.push(chunk));
    try {
      const code = await outputOf(this.#command("wait", this.#name), { signal });
      await following.ended.catch(() => {});
      this.#ended.abort(external(`the container ${exitText(Number(code))}`));
    } catch (error) {
      this.#ended.abort(error);
    }
  }
}

async function remove(command: (...args: string[]) => string[], name: string): Promise<void> {
  const signal = AbortSignal.timeout(REMOVE_MS);
  const options = { signal, detached: true };
  await outputOf(command("rm", "--force", "--volumes", name), options).catch((error: unknown) => {
    // The container was never created.
    if (!/no such container|no container with/i.test(String(error))) throw error;
  });
}

export const argumentsOf = (plan: ContainerPlan): string[] => [
  ...plan.flags,
  "--publish",
  `127.0.0.1::${plan.port}`,
  ...plan.variables.flatMap((name) => ["--env", name]),
  // Variables of the runner override those of the version.
  ...Object.entries(plan.environment).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
  plan.image,
  ...plan.command,
];

/** The runner's default applies if the image names none. */
const USUAL_PORT = 5_000;

export interface PlanOptions {
  engine: EngineName;
  image: string;
  config: ImageConfig["config"];
  spoken: ContainerInterface;
  maxConcurrency: number;
  /** Names of variables of this process that its container gets. */
  variables: readonly string[];
  hasGpu: boolean;
}

export function containerPlan(options: PlanOptions): ContainerPlan {
  const { engine, image, config, spoken, maxConcurrency, variables, hasGpu } = options;
  const { cog } = imageFacts(config.Labels, config.Env, true);
  const ports = Object.fromEntries(config.ExposedPorts.map((port) => [port, {}]));
  const exposed = spoken === "vendora" ? exposedPort(ports) : undefined;
  const port = exposed ?? USUAL_PORT;
  return {
    image,
    command: cog ? COG_COMMAND : [],
    environment: {
      ...(spoken === "cog" && cogEnvironment(maxConcurrency)),
      ...listenVariables(spoken, "0.0.0.0", port),
    },
    variables,
    port,
    spoken,
    flags: [
      // The image exists locally for the platform of runners, which may not be that of this machine.
      ...["--platform", "linux/amd64", "--pull", "never"],
      "--cap-drop=ALL",
      ...DEFAULT_SANDBOX.capabilities.map((name) => `--cap-add=${name}`),
      "--security-opt=no-new-privileges",
      `--shm-size=${SHM_BYTES}`,
      // Podman waits for the stop timeout even when it removes a container by force.
      "--stop-timeout=1",
      ...(hasGpu && needsGpu(config) ? GPU_FLAGS[engine] : []),
    ],
  };
}

export const needsGpu = ({ Labels, Env }: ImageConfig["config"]): boolean =>
  imageFacts(Labels, Env, true).gpu !== "none";

/** Podman knows GPUs by CDI; its `--gpus` is newer than what distributions have. */
const GPU_FLAGS: Record<EngineName, string[]> = {
  docker: ["--gpus=all"],
  podman: ["--device=nvidia.com/gpu=all"],
};

/** NVIDIA's toolkit writes its CDI specifications into these folders, where Podman reads them. */
const CDI_FOLDERS = ["/etc/cdi", "/var/run/cdi"];

/** Whether this engine can give containers NVIDIA's GPUs. */
export async function engineHasGpu(engine: EngineName, signal: AbortSignal): Promise<boolean> {
  if (engine === "docker") {
    const info = await outputOf(["docker", "info", "--format", "{{json .}}"], { signal });
    return hasNvidia(JSON.parse(info));
  }
  const names = await Promise.all(CDI_FOLDERS.map((one) => readdir(one).catch(() => [])));
  return names.flat().some((name) => name.startsWith("nvidia"));
}
