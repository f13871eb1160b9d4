/** How the container is started: as a runner does it, as far as that matters to its server. */
import { readdir } from "node:fs/promises";
import { SHM_BYTES } from "../../../runner/src/devices/share.ts";
import { hasNvidia } from "../../../runner/src/engines/docker/gpus.ts";
import { COG_COMMAND, imageFacts } from "../../../runner/src/engines/docker/image.ts";
import { exposedPort, listenVariables } from "../../../runner/src/engines/listen-address.ts";
import { DEFAULT_SANDBOX } from "../../../runner/src/engines/options.ts";
import { cogEnvironment } from "../../../runner/src/interfaces/cog/ready.ts";
import type { ImageConfig } from "../../protocol/oci.ts";
import type { ContainerInterface } from "../../protocol/runner.ts";
import type { EngineName } from "../image/engine.ts";
import { outputOf } from "../image/program.ts";
import type { ContainerPlan } from "./container.ts";

/** The runner's, if the image does not say. */
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
      // It is there, for the platform of runners, on a machine of any.
      ...["--platform", "linux/amd64", "--pull", "never"],
      "--cap-drop=ALL",
      ...DEFAULT_SANDBOX.capabilities.map((name) => `--cap-add=${name}`),
      "--security-opt=no-new-privileges",
      `--shm-size=${SHM_BYTES}`,
      // Podman waits for it, even if it is told to remove a container by force.
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

/** Where NVIDIA's toolkit writes what Podman reads. */
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
