/** The checks of `auspex-runner check` that concern containers. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { Device } from "../devices/device.ts";
import { type Share, shareOf } from "../devices/share.ts";
import { FIREWALL_ADVICE, firewallProblem, NO_FIREWALL } from "../engines/docker/firewall.ts";
import { cdiNames, hasNvidiaRuntime } from "../engines/docker/gpus.ts";
import {
  DOCKER_ADVICE,
  type DockerInfo,
  describeIsolation,
  diskShare,
  findOvercommitment,
  machineOf,
  noDocker,
  RUNTIME_ADVICE,
  readDockerInfo,
  runtimeProblem,
} from "../engines/docker/info.ts";
import {
  DEFAULT_SOCKET,
  type DockerOptions,
  type EngineOptions,
  type ProcessOptions,
  type Sandbox,
} from "../engines/options.ts";
import { listOwned } from "../engines/process/model-folder.ts";
import { NO_ISOLATION } from "../engines/process/process-engine.ts";
import { gigabytes } from "../files/transfer.ts";
import type { Finding } from "./gpus.ts";

/** @param gpus those that can be used */
export function checkEngine(
  options: EngineOptions,
  gpus: readonly Device[] = [],
): Promise<Finding[]> {
  return options.kind === "docker" ? checkDocker(options, gpus) : checkProcess(options);
}

async function checkDocker(options: DockerOptions, gpus: readonly Device[]): Promise<Finding[]> {
  const socketPath = options.socket ?? DEFAULT_SOCKET;
  try {
    const info = await readDockerInfo(socketPath);
    return [
      checkVersion(info),
      checkStorage(info),
      checkToolkit(info, gpus),
      checkConfinement(info, options.sandbox ?? {}),
      await checkShares(info, options, gpus.length),
      VARIABLES,
      await checkFirewall(options.firewall === "off"),
    ];
  } catch (error) {
    const detail = noDocker(socketPath, error);
    return [{ ok: false, name: "docker", detail, advice: DOCKER_ADVICE }];
  }
}

const checkVersion = ({ ServerVersion, OperatingSystem }: DockerInfo): Finding => ({
  ok: true,
  name: "docker",
  detail: `version ${ServerVersion} on ${OperatingSystem}`,
});

function checkStorage({ Driver, DockerRootDir }: DockerInfo): Finding {
  const detail = `images are stored by ${Driver} in ${DockerRootDir}`;
  if (Driver !== "vfs") return { ok: true, name: "docker storage", detail };
  const advice = "vfs copies every layer in full: configure Docker to use overlay2";
  return { ok: true, name: "docker storage", detail, advice };
}

export function checkToolkit(info: DockerInfo, gpus: readonly Device[]): Finding {
  const name = "nvidia container toolkit";
  const real = gpus.filter(({ pretend }) => !pretend);
  if (real.length === 0) return { ok: true, name, detail: "not needed without GPUs" };
  if (cdiNames(real, info)) return { ok: true, name, detail: "Docker provides GPUs through CDI" };
  if (!hasNvidiaRuntime(info)) {
    const detail = "Docker has no runtime nvidia: containers with GPUs will not start";
    return { ok: false, name, detail, advice: "install it and run nvidia-ctk runtime configure" };
  }
  const detail = "Docker has the runtime nvidia";
  if (info.CgroupDriver !== "systemd") return { ok: true, name, detail };
  return {
    ok: true,
    name,
    detail: `${detail}, and systemd manages its cgroups: when systemd reloads its units, running containers lose their GPUs`,
    advice:
      'use Docker 28.2 and NVIDIA Container Toolkit 1.18 or later, which use CDI (earlier: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), or set "exec-opts": ["native.cgroupdriver=cgroupfs"] in /etc/docker/daemon.json',
  };
}

function checkConfinement(info: DockerInfo, sandbox: Partial<Sandbox>): Finding {
  const name = "container isolation";
  const problem = runtimeProblem(info, sandbox);
  if (problem !== undefined) return { ok: false, name, detail: problem, advice: RUNTIME_ADVICE };
  return { ok: true, name, ...describeIsolation(info, sandbox) };
}

async function checkShares(
  info: DockerInfo,
  options: DockerOptions,
  gpus: number,
): Promise<Finding> {
  const name = "container shares";
  const machine = machineOf(info);
  const settings = { containers: options.containers ?? 1, ...options.sandbox };
  const problem = findOvercommitment(machine, settings);
  if (problem) return { ok: !problem.fatal, name, detail: problem.detail, advice: problem.advice };
  const watched = info.DriverStatus?.some(([, value]) => value === "xfs")
    ? "by the storage driver where possible, and by checking regularly"
    : "by checking regularly, so it may be exceeded for some seconds";
  const disk_bytes = await diskShare(info, options);
  const disk =
    disk_bytes === 0
      ? "unlimited disk"
      : `${gigabytes(disk_bytes)} GB of disk, enforced ${watched}`;
  const share = (count: number) => describeShare(shareOf(count, gpus, machine, settings));
  const each = gpus > 0 ? `with a GPU each gets ${share(1)}; without, ` : "each gets ";
  return { ok: true, name, detail: `${each}${share(0)}; ${disk}` };
}

const describeShare = ({ memory_bytes, cpus }: Share): string =>
  `${gigabytes(memory_bytes)} GB of memory, ${cpus === 0 ? "all cores" : `${cpus} cores`}`;

const VARIABLES: Finding = {
  ok: true,
  name: "model variables",
  detail: "hidden from docker inspect, except for images without /bin/sh (see the runner's log)",
};

async function checkFirewall(off: boolean): Promise<Finding> {
  const name = "container firewall";
  if (off) {
    const detail = `off: ${NO_FIREWALL}, and versions that limit their egress do not run here`;
    return { ok: true, name, detail };
  }
  const problem = await firewallProblem();
  if (problem === undefined) {
    return {
      ok: true,
      name,
      detail:
        "containers can reach only the public internet, or what their version's egress allows",
    };
  }
  return { ok: false, name, detail: `${NO_FIREWALL}: ${problem}`, advice: FIREWALL_ADVICE };
}

async function checkProcess({ models }: ProcessOptions): Promise<Finding[]> {
  const isolation = { ok: true, name: "isolation", detail: NO_ISOLATION };
  const name = "models folder";
  try {
    await access(models, constants.R_OK);
    const names = await listOwned(models);
    const detail = `${models} contains ${names.length > 0 ? names.join(", ") : "no model"}`;
    if (names.length > 0) return [isolation, { ok: true, name, detail }];
    const advice = "add a model as a folder {owner}/{name} with an auspex.json";
    return [isolation, { ok: true, name, detail, advice }];
  } catch (error) {
    const detail = `${models} cannot be used: ${String(error)}`;
    return [isolation, { ok: false, name, detail, advice: "set --models to a readable directory" }];
  }
}
