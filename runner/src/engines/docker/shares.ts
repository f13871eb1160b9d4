/**
 * What one container may take of its machine. Where the operator has said nothing, each has an
 * equal share, so that no model can slow down its neighbours or take the machine down with it.
 */
import { statfs } from "node:fs/promises";
import { gigabytes } from "../../files/transfer.ts";
import type { DockerOptions, Sandbox } from "../options.ts";
import type { DockerInfo } from "./info.ts";

/** A tenth stays for everything else. */
const SHARED_FRACTION = 0.9;

/** Where the operator has given out more than there is, in words. */
export interface Overcommitment {
  detail: string;
  advice: string;
  /** Docker starts none of them. */
  fatal: boolean;
}

/** The first of what all containers together may take and the machine does not have. */
export function findOvercommitment(
  info: DockerInfo,
  shares: Shares,
  containers: number,
): Overcommitment | undefined {
  const { MemTotal, NCPU } = info;
  const { memory_bytes: memory, cpus } = shares;
  if (cpus > NCPU) {
    const detail = `each is to get ${cpus} cores, and Docker has ${NCPU}: it starts none`;
    return { detail, advice: `give at most ${NCPU} (--cpus), or 0 for all`, fatal: true };
  }
  if (memory * containers > MemTotal) {
    const maxGb = gigabytes(Math.floor((MemTotal * SHARED_FRACTION) / containers));
    const total = `${containers} of ${gigabytes(memory)} GB of memory`;
    return {
      detail: `${total} are more than the ${gigabytes(MemTotal)} GB of this machine: the kernel may end any of its programs`,
      advice: `give ${maxGb} GB each (--memory-gb), or run fewer at a time (--containers)`,
      fatal: false,
    };
  }
  return undefined;
}

/** Of all containers together, where Docker's disk cannot be seen from here. */
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
    // Docker takes hundredths, and one at least.
    cpus: sandbox.cpus ?? Math.max(Math.floor((info.NCPU / containers) * 100), 1) / 100,
    disk_bytes: sandbox.disk_bytes ?? Math.floor((free * SHARED_FRACTION) / containers),
  };
}

const freeBytes = (folder: string): Promise<number> =>
  statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => UNKNOWN_DISK_BYTES / SHARED_FRACTION,
  );
