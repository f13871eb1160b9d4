/** The resources of Docker's machine, and the check that the operator's limits fit into them. */
import { statfs } from "node:fs/promises";
import type { Machine, ShareSettings } from "../../devices/share.ts";
import { SHARED_FRACTION } from "../../devices/share.ts";
import { gigabytes } from "../../files/transfer.ts";
import type { DockerOptions } from "../options.ts";
import type { DockerInfo } from "./info.ts";

export const machineOf = ({ MemTotal, NCPU }: DockerInfo): Machine => ({
  memory_bytes: MemTotal,
  cpus: NCPU,
});

/** A problem with the operator's limits. */
export interface Overcommitment {
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
