/**
 * The resources of one container. By default each gets an equal share, so that no model can slow
 * down its neighbors or take down the machine.
 */
import { statfs } from "node:fs/promises";
import { gigabytes } from "../../files/transfer.ts";
import type { DockerOptions, Sandbox } from "../options.ts";
import type { DockerInfo } from "./info.ts";

/** A tenth is left for everything else. */
const SHARED_FRACTION = 0.9;

/** A problem with the operator's limits. */
export interface Overcommitment {
  detail: string;
  advice: string;
  /** Docker starts no container. */
  fatal: boolean;
}

/** The first resource of which the containers may take more than the machine has. */
export function findOvercommitment(
  info: DockerInfo,
  shares: Shares,
  containers: number,
): Overcommitment | undefined {
  const { MemTotal, NCPU } = info;
  const { memory_bytes: memory, cpus } = shares;
  if (cpus > NCPU) {
    const detail = `each gets ${cpus} cores, but Docker has ${NCPU} and will start none`;
    return { detail, advice: `set --cpus to at most ${NCPU}, or 0 for all`, fatal: true };
  }
  if (memory * containers > MemTotal) {
    const maxGb = gigabytes(Math.floor((MemTotal * SHARED_FRACTION) / containers));
    const total = `${containers} containers with ${gigabytes(memory)} GB of memory`;
    return {
      detail: `${total} exceed this machine's ${gigabytes(MemTotal)} GB: the kernel may kill any program`,
      advice: `set --memory-gb to ${maxGb}, or run fewer containers (--containers)`,
      fatal: false,
    };
  }
  return undefined;
}

/** Total for all containers if Docker's disk cannot be read from here. */
const UNKNOWN_DISK_BYTES = 50 * 1024 ** 3;

export type Shares = Required<Pick<Sandbox, "memory_bytes" | "cpus" | "disk_bytes">>;

export async function computeShares(
  info: DockerInfo,
  { containers = 1, sandbox = {} }: Pick<DockerOptions, "containers" | "sandbox">,
): Promise<Shares> {
  const free = await freeBytes(info.DockerRootDir);
  return {
    memory_bytes:
      sandbox.memory_bytes ?? Math.floor((info.MemTotal * SHARED_FRACTION) / containers),
    // Docker accepts hundredths, at least one.
    cpus: sandbox.cpus ?? Math.max(Math.floor((info.NCPU / containers) * 100), 1) / 100,
    disk_bytes: sandbox.disk_bytes ?? Math.floor((free * SHARED_FRACTION) / containers),
  };
}

const freeBytes = (folder: string): Promise<number> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => UNKNOWN_DISK_BYTES / SHARED_FRACTION,
  );
