/** The GPUs that containers can be given, and where the runner learns of them. */
export interface Device {
  /** `GPU-…`, or `MIG-…` for an instance of a GPU that is partitioned. */
  id: string;
  /** As nvidia-smi counts: `0`, or `0:1` for an instance. */
  index: string;
  name: string;
  /** The memory in GB; 0 if the driver does not report it. */
  memory_gb: number;
  /** The reason why the GPU cannot be used, in the driver's words. */
  fault?: string;
  /** Set for a pretended GPU, without hardware behind it, for trying things out. */
  pretend?: true;
}

export interface DeviceSource {
  /** @throws Error for the operator if there are GPUs and their driver does not answer */
  list(): Promise<Device[]>;
}

/** The memory of each of PretendGpus. */
const MEMORY_GB = 24;

/** GPUs that do not exist, for tests and for machines without any. */
export class PretendGpus implements DeviceSource {
  readonly #devices: Device[];

  constructor(count: number) {
    this.#devices = Array.from({ length: count }, (_, n) => ({
      id: `GPU-pretend-${n}`,
      index: String(n),
      name: "Pretend GPU",
      memory_gb: MEMORY_GB,
      pretend: true,
    }));
  }

  async list(): Promise<Device[]> {
    return this.#devices;
  }
}

/** A source of some of a machine's GPUs; the others are left to other programs or another runner. */
export class SomeDevices implements DeviceSource {
  readonly #source: DeviceSource;
  readonly #ids: readonly string[];

  constructor(source: DeviceSource, ids: readonly string[]) {
    this.#source = source;
    this.#ids = ids;
  }

  async list(): Promise<Device[]> {
    const all = await this.#source.list();
    return this.#ids.map((id) => all.find((device) => device.id === id) ?? missing(id));
  }
}

/** @returns a device that stands for a misspelled ID, or for a GPU that failed before the runner started */
const missing = (id: string): Device => ({
  id,
  index: "?",
  name: "GPU",
  memory_gb: 0,
  fault: "nvidia-smi does not list it",
});
