/** Docker's GET /info, as far as it matters here. */

import { statfs } from "node:fs/promises";
import Dockerode from "dockerode";
import { z } from "zod";
import { type Machine, SHARED_FRACTION, type ShareSettings } from "../../devices/share.ts";
import { gigabytes } from "../../files/transfer.ts";
import type { DockerOptions, Sandbox } from "../options.ts";

export const dockerInfo = z.object({
  ServerVersion: z.string(),
  Driver: z.string(),
  DriverStatus: z.array(z.array(z.string())).nullish().catch(null),
  DockerRootDir: z.string(),
  CgroupDriver: z.string().nullish(),
  /** Only Podman reports this. */
  BuildahVersion: z.string().nullish(),
  DiscoveredDevices: z.unknown().optional(),
  OperatingSystem: z.string().default("unknown"),
  Runtimes: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((runtimes) => runtimes ?? {}),
  SecurityOptions: z.array(z.string()).nullish().catch(null),
  NCPU: z.number(),
  MemTotal: z.number(),
});
export type DockerInfo = z.infer<typeof dockerInfo>;

/** Whether images are in containerd's store, as Docker 29 has it by default. */
export const usesContainerdStore = ({ DriverStatus }: DockerInfo): boolean =>
  DriverStatus?.some(([, value]) => value === "io.containerd.snapshotter.v1") ?? false;

export const imageFolders = (info: DockerInfo): string[] =>
  usesContainerdStore(info) ? [info.DockerRootDir, CONTAINERD_ROOT] : [info.DockerRootDir];

/** Docker does not say where it is. */
const CONTAINERD_ROOT = "/var/lib/containerd";

/** Whether root in a container is unprivileged on the machine. */
export const hasUserNamespaces = ({ SecurityOptions }: DockerInfo): boolean =>
  SecurityOptions?.some((option) => /^name=(userns|rootless)\b/.test(option)) ?? false;

export const DOCKER_ADVICE =
  "start Docker, give this user access to its socket, or use --engine process";

const ANSWER_MS = 5_000;

/** @throws Error without an answer */
export const readDockerInfo = async (socketPath: string): Promise<DockerInfo> =>
  dockerInfo.parse(await new Dockerode({ socketPath, timeout: ANSWER_MS }).info());

/** Why there is no info. */
export const noDocker = (socket: string, error: unknown): string =>
  `Docker does not respond at ${socket}: ${error instanceof Error ? error.message : error}`;

type IsolationOptions = Pick<Sandbox, "user" | "runtime" | "class_runtimes">;

interface Isolation {
  detail: string;
  advice?: string;
}

/** Describes the isolation; with advice if root in a container is root on this machine. */
export function describeIsolation(info: DockerInfo, options: IsolationOptions): Isolation {
  const { detail, ...rest } = describeGeneral(info, options);
  const others = [...(options.class_runtimes ?? [])].map(
    ([hardware, runtime]) => `; those of ${hardware} use the runtime ${runtime}`,
  );
  return { detail: `${detail}${others.join("")}`, ...rest };
}

function describeGeneral(info: DockerInfo, { user, runtime }: IsolationOptions): Isolation {
  if (runtime !== undefined) return { detail: `containers use the runtime ${runtime}` };
  if (hasUserNamespaces(info)) {
    return { detail: "root in a container is unprivileged on this machine (user namespaces)" };
  }
  if (user !== undefined && !/^(root|0+)(:|$)/.test(user)) {
    return { detail: `containers run as ${user}, without user namespaces` };
  }
  return {
    detail: "root in a container is root on this machine, with fewer capabilities",
    advice:
      'set "userns-remap": "default" in /etc/docker/daemon.json (images are pulled again), or use ' +
      "--runtime runsc, or --user 65534:65534 for images that do not need root",
  };
}

/** Why the runtime cannot be used; undefined if it can. */
export function runtimeProblem(
  { Runtimes }: DockerInfo,
  { runtime, class_runtimes }: IsolationOptions,
): string | undefined {
  const needed = [runtime, ...(class_runtimes?.values() ?? [])];
  const missing = needed.find((one) => one !== undefined && !(one in Runtimes));
  if (missing === undefined) return undefined;
  const known = Object.keys(Runtimes).join(", ");
  return `Docker has no runtime ${missing}, which --runtime requires (available: ${known})`;
}

/** The runtime of containers of a class; undefined for Docker's default. */
export const runtimeOf = (
  { runtime, class_runtimes }: IsolationOptions,
  hardware: string,
): string | undefined => class_runtimes?.get(hardware) ?? runtime;

export const RUNTIME_ADVICE = "install it and add it to the runtimes in /etc/docker/daemon.json";

export const machineOf = ({ MemTotal, NCPU }: DockerInfo): Machine => ({
  memory_bytes: MemTotal,
  cpus: NCPU,
});

/** A problem with the operator's limits. */
interface Overcommitment {
  detail: string;
  advice: string;
  /** No container starts. */
  fatal: boolean;
}

/** Returns the first limit of the operator that allows fewer containers than may run. */
export function findOvercommitment(
  { memory_bytes: total, cpus: cores }: Machine,
  { containers, memory_bytes: memory = 0, cpus = 0 }: ShareSettings,
): Overcommitment | undefined {
  if (cpus > cores) {
    const detail = `each gets ${cpus} cores, but Docker has ${cores} and will start none`;
    return { detail, advice: `set --cpus to at most ${cores}, or 0 for all`, fatal: true };
  }
  if (memory * containers <= total) return undefined;
  const fitting = Math.floor(total / memory);
  const maxGb = gigabytes(Math.floor((total * SHARED_FRACTION) / containers));
  const which = fitting === 0 ? "none" : `only ${fitting}`;
  return {
    detail: `${which} of ${containers} containers with ${gigabytes(memory)} GB of memory each can run in this machine's ${gigabytes(total)} GB`,
    advice: `set --memory-gb to ${maxGb}, or run fewer containers (--containers)`,
    fatal: fitting === 0,
  };
}

/** Total for all containers if Docker's disk cannot be read from here. */
const UNKNOWN_DISK_BYTES = 50 * 1024 ** 3;

/** Returns the bytes that one container may write: an equal share of the free ones; 0 means unlimited. */
export async function diskShare(
  { DockerRootDir }: DockerInfo,
  { containers = 1, sandbox = {} }: Pick<DockerOptions, "containers" | "sandbox">,
): Promise<number> {
  if (sandbox.disk_bytes !== undefined) return sandbox.disk_bytes;
  const free = await statfs(DockerRootDir).then(
    ({ bavail, bsize }) => bavail * bsize * SHARED_FRACTION,
    () => UNKNOWN_DISK_BYTES,
  );
  return Math.floor(free / containers);
}
