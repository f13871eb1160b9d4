/** GPUs that do not exist, for tests and for trying things out on a machine without any. */
import type { Device, DeviceSource } from "./device.ts";

const MEMORY_GB = 24;

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
