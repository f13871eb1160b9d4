/** The checks of `auspex-runner check` that concern containers. */
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import type { Finding } from "../../check/finding.ts";
import { gigabytes } from "../../files/transfer.ts";
import {
  DEFAULT_SOCKET,
  type DockerOptions,
  type EngineOptions,
  type ProcessOptions,
  type Sandbox,
} from "../options.ts";
import { listOwned } from "../process/model-folder.ts";
import { NO_ISOLATION } from "../process/process-engine.ts";
import { FIREWALL_ADVICE, firewallProblem, NO_FIREWALL } from "./firewall.ts";
import { DOCKER_ADVICE, type DockerInfo, noDocker, readDockerInfo } from "./info.ts";
import { describeIsolation, RUNTIME_ADVICE, runtimeProblem } from "./isolation.ts";
import { computeShares, findOvercommitment } from "./shares.ts";

export function checkEngine(options: EngineOptions): Promise<Finding[]> {
  return options.kind === "docker" ? checkDocker(options) : checkProcess(options);
}

async function checkDocker(options: DockerOptions): Promise<Finding[]> {
  const socketPath = options.socket ?? DEFAULT_SOCKET;
  try {
    const info = await readDockerInfo(socketPath);
    const findings = [checkVersion(info), checkStorage(info)];
    if (options.gpus !== "never") findings.push(checkGpus(info, options.gpus === "always"));
    const sandbox = options.sandbox ?? {};
    findings.push(checkConfinement(info, sandbox), await checkShares(info, options), VARIABLES);
    return [...findings, await checkFirewall(options.firewall === "off")];
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

function checkGpus({ Runtimes }: DockerInfo, needed: boolean): Finding {
  const name = "nvidia container toolkit";
  if ("nvidia" in Runtimes) return { ok: true, name, detail: "Docker has the runtime nvidia" };
  const detail = "Docker has no runtime nvidia: images that need GPUs will not start";
  const advice = "on a machine with GPUs, install it and run nvidia-ctk runtime configure";
  return { ok: !needed, name, detail, advice };
}

function checkConfinement(info: DockerInfo, sandbox: Partial<Sandbox>): Finding {
  const name = "container isolation";
  const problem = runtimeProblem(info, sandbox);
  if (problem !== undefined) return { ok: false, name, detail: problem, advice: RUNTIME_ADVICE };
  return { ok: true, name, ...describeIsolation(info, sandbox) };
}

async function checkShares(info: DockerInfo, options: DockerOptions): Promise<Finding> {
  const name = "container shares";
  const shares = await computeShares(info, options);
  const problem = findOvercommitment(info, shares, options.containers ?? 1);
  if (problem) return { ok: !problem.fatal, name, detail: problem.detail, advice: problem.advice };
  const { memory_bytes, cpus, disk_bytes } = shares;
  const cores = cpus === 0 ? "all cores" : `${cpus} cores`;
  const watched = info.DriverStatus?.some(([, value]) => value === "xfs")
    ? "by the storage driver where possible, and by checking regularly"
    : "by checking regularly, so it may be exceeded for some seconds";
  const disk =
    disk_bytes === 0
      ? "unlimited disk"
      : `${gigabytes(disk_bytes)} GB of disk, enforced ${watched}`;
  const detail = `each gets ${gigabytes(memory_bytes)} GB of memory, ${cores}, ${disk}`;
  return { ok: true, name, detail };
}

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
