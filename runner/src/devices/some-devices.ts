/** Only some of a machine's GPUs: the others are left to other programs, or to another runner. */
import type { Device, DeviceSource } from "./device.ts";

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

/** A misspelled id, or a GPU that has failed before the runner started. */
const missing = (id: string): Device => ({
  id,
  index: "?",
  name: "GPU",
  memory_gb: 0,
  fault: "nvidia-smi does not list it",
});
