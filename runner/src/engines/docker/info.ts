/** Docker's GET /info, as far as it matters here. */
import Dockerode from "dockerode";
import { z } from "zod";

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

/** Returns the folders with images and with the files of containers, on Docker's machine. */
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
