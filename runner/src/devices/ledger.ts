/**
 * The ledger of this machine: the GPUs, memory, processors and number of containers that are leased. It only
 * counts, and gives each GPU to one container at a time; the leases never exceed the machine.
 */
import type { JobHardware } from "../../../src/protocol/runner.ts";
import type { Device } from "./device.ts";
import {
  fractionOf,
  type Machine,
  SHARED_FRACTION,
  type Share,
  type ShareSettings,
  shareOf,
} from "./share.ts";

export interface Lease extends Share {
  /** The GPUs of the container, exactly as many as its class has. */
  readonly gpus: readonly Device[];
  /** Ends the lease; may be called again. */
  release(): void;
}

export interface DeviceState extends Pick<Device, "id" | "name" | "memory_gb"> {
  holder: string | null;
  /** Set if the GPU has failed or is gone, and is therefore not leased. */
  lost?: true;
}

export interface DeviceChanges {
  added: Device[];
  lost: Device[];
  /** Devices that were lost and work again. */
  back: Device[];
}

/** An amount of all that is leased. */
interface Room {
  containers: number;
  gpus: number;
  memory_bytes: number;
  fraction: number;
}

interface Holding {
  holder: string;
  /** The room at the time of the lease; some of its GPUs may be lost since. */
  room: Room;
}

/** Fractions such as 1/3 do not add up exactly. */
const TOLERANCE = 1e-9;

export class Ledger {
  readonly #settings: ShareSettings;
  /** Set before anything is leased. */
  machine: Machine = { memory_bytes: 0, cpus: 0 };
  /** The devices in the driver's order. */
  readonly #devices = new Map<string, Device>();
  readonly #lost = new Set<string>();
  readonly #leases = new Map<Lease, Holding>();

  constructor(settings: ShareSettings) {
    this.#settings = settings;
  }

  /**
   * Takes over the driver's list. A GPU that the driver does not list any more, or lists with a fault, is
   * lost.
   */
  see(listed: readonly Device[]): DeviceChanges {
    const changes: DeviceChanges = { added: [], lost: [], back: [] };
    for (const device of listed) {
      if (this.#devices.has(device.id)) continue;
      this.#devices.set(device.id, device);
      changes.added.push(device);
    }
    const usable = new Set(listed.filter(({ fault }) => !fault).map(({ id }) => id));
    for (const device of this.#devices.values()) {
      if (usable.has(device.id) && this.#lost.delete(device.id)) changes.back.push(device);
      if (usable.has(device.id) || this.#lost.has(device.id)) continue;
      this.#lost.add(device.id);
      changes.lost.push(listed.find(({ id }) => id === device.id) ?? device);
    }
    return changes;
  }

  devices(): DeviceState[] {
    const holders = new Map<string, string>();
    for (const [{ gpus }, { holder }] of this.#leases)
      for (const { id } of gpus) holders.set(id, holder);
    return Array.from(this.#devices.values(), ({ id, name, memory_gb }) => ({
      id,
      name,
      memory_gb,
      holder: holders.get(id) ?? null,
      ...(this.#lost.has(id) && { lost: true }),
    }));
  }

  isLost({ id }: Device): boolean {
    return this.#lost.has(id);
  }

  /** Why a container of this class can never run here, as things are; undefined if it can. */
  problem({ identifier, gpus }: JobHardware): string | undefined {
    const [known, lost] = [this.#devices.size, this.#lost.size];
    if (gpus > known - lost) {
      const has = lost === 0 ? `has ${known}` : `has ${known}, of which ${lost} failed`;
      return `containers of ${identifier} get ${count(gpus)}, and this runner's machine ${has}. The operator can run auspex-runner check`;
    }
    const { memory_bytes } = this.share(gpus);
    if (memory_bytes > this.#capacity.memory_bytes)
      return "a container gets more memory than this runner's machine has. The operator must lower --memory-gb";
    return undefined;
  }

  share(gpus: number): Share {
    return shareOf(gpus, this.#devices.size, this.machine, this.#settings);
  }

  /**
   * Whether there is room for another container.
   * @param ahead containers that come first: their resources are not available to this one, even if they do
   *   not suffice for them
   * @param ending leases that will be released
   */
  fits(
    hardware: JobHardware,
    ahead: readonly JobHardware[] = [],
    ending: readonly Lease[] = [],
  ): boolean {
    if (this.problem(hardware) !== undefined) return false;
    return covers(this.#free(ahead, ending), this.#roomFor(hardware));
  }

  /** Whether there are enough GPUs and few enough containers, which is all that others can count. */
  countsFit(hardware: JobHardware, ending: readonly Lease[]): boolean {
    if (this.problem(hardware) !== undefined) return false;
    const { containers, gpus } = this.#free([], ending);
    return containers > 0 && gpus >= hardware.gpus;
  }

  /**
   * Leases resources; undefined if they do not suffice.
   * @param holder the name that is shown as the user of the GPUs
   */
  lease(
    holder: string,
    hardware: JobHardware,
    ahead: readonly JobHardware[] = [],
  ): Lease | undefined {
    if (!this.fits(hardware, ahead)) return undefined;
    const held = new Set([...this.#leases.keys()].flatMap(({ gpus }) => gpus));
    const free = [...this.#devices.values()].filter((one) => !held.has(one) && !this.isLost(one));
    return this.#lease(holder, hardware, free.slice(0, hardware.gpus));
  }

  /** Leases the GPUs that an adopted container has. @param gpus their ids; unknown ids are ignored */
  taken(holder: string, hardware: JobHardware, gpus: readonly string[]): Lease {
    const known = gpus.flatMap((id) => this.#devices.get(id) ?? []);
    return this.#lease(holder, hardware, known);
  }

  #lease(holder: string, hardware: JobHardware, gpus: readonly Device[]): Lease {
    const lease: Lease = {
      ...this.share(hardware.gpus),
      gpus,
      release: () => void this.#leases.delete(lease),
    };
    this.#leases.set(lease, { holder, room: this.#roomFor(hardware) });
    return lease;
  }

  get #capacity(): Room {
    const { containers, memory_bytes } = this.#settings;
    // An operator who sets the memory of containers may use all of the machine's memory.
    const usable = memory_bytes === undefined ? SHARED_FRACTION : 1;
    return {
      containers,
      gpus: this.#devices.size - this.#lost.size,
      memory_bytes: Math.floor(this.machine.memory_bytes * usable),
      fraction: 1,
    };
  }

  #free(ahead: readonly JobHardware[], ending: readonly Lease[]): Room {
    const taken = [...this.#leases].filter(([lease]) => !ending.includes(lease));
    const possible = ahead.filter((one) => this.problem(one) === undefined);
    return [
      ...taken.map(([{ gpus }, { room }]) => ({ ...room, gpus: this.#usable(gpus) })),
      ...possible.map((one) => this.#roomFor(one)),
    ].reduce(minus, this.#capacity);
  }

  #usable(gpus: readonly Device[]): number {
    return gpus.filter((one) => !this.isLost(one)).length;
  }

  #roomFor({ gpus }: JobHardware): Room {
    const { containers, cpus } = this.#settings;
    return {
      containers: 1,
      gpus,
      memory_bytes: this.share(gpus).memory_bytes,
      // `cpus`, set by the operator, is a limit for each container and not a share.
      fraction: cpus === undefined ? fractionOf(gpus, this.#devices.size, containers) : 0,
    };
  }
}

const minus = (from: Room, taken: Room): Room => ({
  containers: Math.max(from.containers - taken.containers, 0),
  gpus: Math.max(from.gpus - taken.gpus, 0),
  memory_bytes: Math.max(from.memory_bytes - taken.memory_bytes, 0),
  fraction: Math.max(from.fraction - taken.fraction, 0),
});

const covers = (free: Room, needed: Room): boolean =>
  free.containers >= needed.containers &&
  free.gpus >= needed.gpus &&
  free.memory_bytes >= needed.memory_bytes &&
  free.fraction >= needed.fraction - TOLERANCE;

const count = (gpus: number): string => (gpus === 1 ? "1 GPU" : `${gpus} GPUs`);
