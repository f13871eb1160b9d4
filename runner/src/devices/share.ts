/**
 * The share of a machine that one container may use. A container with GPUs gets the same fraction of the
 * machine as of its GPUs, any other container an equal share, so that no model can slow down its neighbors or
 * take down the machine.
 */

/** The machine that Docker runs on, which may be a VM. */
export interface Machine {
  memory_bytes: number;
  cpus: number;
}

/** Settings of the operator; missing ones are computed. */
export interface ShareSettings {
  /** How many containers run at a time. */
  containers: number;
  memory_bytes?: number | undefined;
  /** Cores, may be fractional; 0 means all. */
  cpus?: number | undefined;
  shm_bytes?: number | undefined;
}

export interface Share {
  memory_bytes: number;
  /** 0 means all. */
  cpus: number;
  /** The size of /dev/shm, which counts as memory. */
  shm_bytes: number;
}

/** A tenth is left for everything else. */
export const SHARED_FRACTION = 0.9;

/** Docker's default of 64 MB breaks PyTorch's data loaders. */
export const SHM_BYTES = 1024 ** 3;

/** @param devices how many GPUs the machine has */
export const fractionOf = (gpus: number, devices: number, containers: number): number =>
  gpus > 0 ? gpus / devices : 1 / containers;

export function shareOf(
  gpus: number,
  devices: number,
  machine: Machine,
  settings: ShareSettings,
): Share {
  const fraction = fractionOf(gpus, devices, settings.containers);
  const memory_bytes =
    settings.memory_bytes ?? Math.floor(machine.memory_bytes * SHARED_FRACTION * fraction);
  // Models that are split over GPUs exchange tensors there, which takes gigabytes.
  const shm_bytes = gpus > 0 ? Math.floor(memory_bytes / 2) : SHM_BYTES;
  return {
    memory_bytes,
    // Docker accepts hundredths of a core, at least one hundredth.
    cpus: settings.cpus ?? Math.max(Math.floor(machine.cpus * fraction * 100), 1) / 100,
    shm_bytes: settings.shm_bytes ?? shm_bytes,
  };
}
