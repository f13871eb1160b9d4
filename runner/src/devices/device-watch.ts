/** Keeps the ledger up to date with the driver, and logs GPUs that fail. */
import { messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";
import { repeat } from "../lib/repeat.ts";
import type { Device, DeviceSource } from "./device.ts";
import type { Ledger } from "./ledger.ts";

/** A listing takes some tenths of a second, in which the driver answers no other call. */
const INTERVAL_MS = 60_000;
/** A listing stays valid this long, since each of several failed runs asks for one. */
const FRESH_MS = 5_000;

const LOST_ADVICE =
  "check nvidia-smi -q and the kernel log (dmesg | grep Xid) for the cause, then reset the GPU " +
  "(nvidia-smi --gpu-reset -i INDEX) or restart the machine; it is used again as soon as " +
  "nvidia-smi lists it";

export class DeviceWatch {
  readonly #source: DeviceSource;
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #onChange: () => void;
  #check: Promise<void> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #end = () => {};

  /** @param onChange called when there are other devices to lease than before */
  constructor(source: DeviceSource, ledger: Ledger, log: Log, onChange: () => void) {
    this.#source = source;
    this.#ledger = ledger;
    this.#log = log;
    this.#onChange = onChange;
  }

  async start(): Promise<void> {
    await this.check();
    this.#end = repeat(INTERVAL_MS, () => this.check());
  }

  stop(): void {
    this.#end();
  }

  /** Resolves when the ledger is as the driver said within the last seconds. Never rejects. */
  check(): Promise<void> {
    if (performance.now() - this.#checkedAt < FRESH_MS) return Promise.resolve();
    this.#check ??= this.#list().finally(() => {
      this.#checkedAt = performance.now();
      this.#check = undefined;
    });
    return this.#check;
  }

  async #list(): Promise<void> {
    try {
      this.#take(await this.#source.list());
    } catch (error) {
      // All GPUs count as lost: a container that got one now could not use it.
      const why = messageOf(error);
      this.#take(this.#ledger.devices().map((device) => ({ ...device, index: "?", fault: why })));
    }
  }

  #take(listed: readonly Device[]): void {
    const { added, lost, back } = this.#ledger.see(listed);
    for (const device of added) this.#log.info("GPU", shown(device));
    for (const device of lost) {
      const why = device.fault ?? "nvidia-smi no longer lists it";
      this.#log.error("GPU lost: it is not used", { ...shown(device), why, advice: LOST_ADVICE });
    }
    for (const device of back) this.#log.info("GPU back: it is used again", shown(device));
    if (added.length + lost.length + back.length > 0) this.#onChange();
  }
}

const shown = ({ id, name, memory_gb }: Device) => ({ id, name, memory_gb });
