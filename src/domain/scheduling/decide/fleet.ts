/** The boxes of a pool, which of their containers serve which jobs, and which of them claims hold. */
import { Box, type Container, canTake } from "./box.ts";
import { queueKeyOf } from "./line.ts";
import type { BoxView, Claim } from "./types.ts";

interface Listed {
  containers: Container[];
  open: Container[];
  gpus: number;
  used: number;
  shape: string;
}

export class Fleet {
  readonly boxes = new Map<string, Box>();
  readonly #queues = new Map<string, Set<Container>>();
  readonly #open = new Map<string, Set<Container>>();
  readonly #listed = new Map<Box, Listed>();
  readonly #capacities = new Map<string, number>();
  /** Claims by the queue key of their containers, and how many containers each holds. */
  #claims: ReadonlyMap<string, Claim> = new Map();
  readonly #held = new Map<string, number>();
  #gpus = 0;
  #used = 0;

  box(view: BoxView): Box {
    let box = this.boxes.get(view.id);
    if (!box) {
      box = new Box(view);
      this.boxes.set(view.id, box);
    }
    return box;
  }

  /** Counts a box again. To be called when the box has changed. */
  list(box: Box): void {
    const before = this.#unlist(box);
    // A box may report anything of a class that it does not serve.
    const containers = [...box.containers.values()].filter(
      ({ phase, hardware }) => phase !== "stopping" && box.serves(hardware),
    );
    const open = box.freeSlots > 0 ? containers.filter(canTake) : [];
    for (const one of containers) addTo(this.#queues, one);
    for (const one of open) addTo(this.#open, one);
    const { gpus, usedGpus: used, shape } = box;
    this.#listed.set(box, { containers, open, gpus, used, shape });
    this.#gpus += gpus;
    this.#used += used;
    if (shape !== before?.shape) this.#capacities.clear();
    this.#holdOf([...containers, ...(before?.containers ?? [])]);
  }

  setTakes(box: Box, takes: boolean, holds: boolean): void {
    if (box.takes === takes && box.holds === holds) return;
    box.takes = takes;
    box.holds = holds;
    this.#capacities.clear();
    this.#holdOf(this.#listed.get(box)?.containers ?? []);
  }

  remove(box: Box): void {
    const before = this.#unlist(box);
    this.#listed.delete(box);
    this.boxes.delete(box.id);
    this.#capacities.clear();
    this.#holdOf(before?.containers ?? []);
  }

  get claims(): ReadonlyMap<string, Claim> {
    return this.#claims;
  }

  /** Replaces all claims. */
  setClaims(claims: readonly Claim[]): void {
    const before = this.#claims;
    this.#claims = new Map(claims.map((claim) => [queueKeyOf(claim), claim]));
    for (const queueKey of new Set([...before.keys(), ...this.#claims.keys()]))
      this.#hold(queueKey);
  }

  /** How many containers of a queue key its claim lacks. */
  lacking(queueKey: string): number {
    return Math.max(0, (this.#claims.get(queueKey)?.min ?? 0) - (this.#held.get(queueKey) ?? 0));
  }

  /** Whether a queue key may have another container. */
  mayGrow(queueKey: string): boolean {
    const max = this.#claims.get(queueKey)?.max ?? null;
    return max === null || this.containersOf(queueKey).size < max;
  }

  #holdOf(containers: readonly Container[]): void {
    if (this.#claims.size === 0) return;
    for (const queueKey of new Set(containers.map((one) => one.queueKey)))
      if (this.#claims.has(queueKey)) this.#hold(queueKey);
  }

  /**
   * Has the claim of a queue key hold its containers that are ready longest, then those that start, on boxes that
   * hold claims. Containers that it does not hold any more may be stopped.
   */
  #hold(queueKey: string): void {
    const min = this.#claims.get(queueKey)?.min ?? 0;
    const containers = [...this.containersOf(queueKey)];
    const held = new Set(
      containers
        .filter(({ box }) => box.holds)
        .toSorted(isBefore)
        .slice(0, min),
    );
    this.#held.set(queueKey, held.size);
    if (min === 0) this.#held.delete(queueKey);
    const changed = new Set<Box>();
    for (const one of containers) {
      if (one.claimed === held.has(one)) continue;
      one.claimed = held.has(one);
      changed.add(one.box);
    }
    for (const box of changed) box.recount();
    if (changed.size > 0) this.#capacities.clear();
  }

  containersOf(queueKey: string): ReadonlySet<Container> {
    return this.#queues.get(queueKey) ?? NONE;
  }

  /** Whether a container takes another job, if its box takes jobs. */
  isOpen(queueKey: string): boolean {
    return this.#open.has(queueKey);
  }

  get isFull(): boolean {
    return this.#open.size === 0;
  }

  /** A container that takes another job: a ready one first, then the one with the fewest. */
  joinable(queueKey: string, allowed: (box: Box) => boolean): Container | undefined {
    let best: Container | undefined;
    for (const one of this.#open.get(queueKey) ?? NONE) {
      if (!one.box.takes || !allowed(one.box)) continue;
      if (!best || isBetter(one, best)) best = one;
    }
    return best;
  }

  /** How many containers of a class there could be at a time, on boxes that take jobs. */
  capacity(hardware: string, gpus: number): number {
    let capacity = this.#capacities.get(hardware);
    if (capacity !== undefined) return capacity;
    capacity = 0;
    for (const box of this.boxes.values())
      if (box.takes && box.serves(hardware)) capacity += box.capacity(gpus);
    this.#capacities.set(hardware, capacity);
    return capacity;
  }

  /** The share of all GPUs whose containers jobs use. */
  get usedShare(): number {
    return this.#gpus > 0 ? this.#used / this.#gpus : 0;
  }

  #unlist(box: Box): Listed | undefined {
    const listed = this.#listed.get(box);
    if (!listed) return undefined;
    this.#gpus -= listed.gpus;
    this.#used -= listed.used;
    for (const one of listed.containers) removeFrom(this.#queues, one);
    for (const one of listed.open) removeFrom(this.#open, one);
    return listed;
  }
}

const NONE: ReadonlySet<Container> = new Set();

const isBefore = (a: Container, b: Container): number =>
  a.phase === b.phase ? a.since - b.since || (a.id < b.id ? -1 : 1) : a.phase === "ready" ? -1 : 1;

function addTo(queues: Map<string, Set<Container>>, one: Container): void {
  const containers = queues.get(one.queueKey);
  if (containers) containers.add(one);
  else queues.set(one.queueKey, new Set([one]));
}

function removeFrom(queues: Map<string, Set<Container>>, one: Container): void {
  const containers = queues.get(one.queueKey);
  containers?.delete(one);
  if (containers?.size === 0) queues.delete(one.queueKey);
}

const isBetter = (a: Container, b: Container): boolean =>
  a.phase === b.phase ? a.users < b.users : a.phase === "ready";
