/**
 * The containers of a runner. A job shares a container that has room, or gets a new one if the ledger has the
 * GPUs and other resources for it; idle containers may have to stop for that. The control plane has placed
 * the job by the runner's last snapshot: the pool carries that out, or declines the job.
 *
 * A job with a reservation may still need another container, if its own fails. The job then waits: room is
 * given in the order of arrival, and once the first waiter has waited too long, no other job may join a
 * container before it: running jobs finish, and a container becomes idle.
 */
import { randomUUID } from "node:crypto";
import { untilAborted } from "../../../src/lib/timeout.ts";
import type { JobHardware } from "../../../src/protocol/runner.ts";
import type { ContainerState } from "../../../src/protocol/runner-state.ts";
import { internal } from "../../../src/run/failure.ts";
import type { Lease, Ledger } from "../devices/ledger.ts";
import {
  type JobOrder,
  runIdOf,
  type ServingContainer,
  type WarmContainer,
} from "../jobs/executor.ts";
import type { LeftContainer } from "./adoption.ts";
import { Container, type ContainerParts } from "./container.ts";
import { type Specification, specificationOf, specify } from "./specification.ts";

const NO_ROOM = "this runner has no room for another container";

export class ContainerPool {
  /** The containers in order of last use. */
  readonly #containers = new Set<Container>();
  readonly #ledger: Ledger;
  readonly #onChange: () => void;
  readonly #waiters = new Waiters();
  readonly #closed = new AbortController();
  #change = Promise.withResolvers<void>();

  /** @param onChange called when what `states` returns may have changed */
  constructor(ledger: Ledger, onChange = () => {}) {
    this.#ledger = ledger;
    this.#onChange = onChange;
  }

  warm(): WarmContainer[] {
    const available = [...this.#containers].filter(({ isReady, hasRoom }) => isReady && hasRoom);
    return available.map(({ key, model }) => ({ key, model }));
  }

  serving(): ServingContainer[] {
    return [...this.#containers].flatMap(({ id, model: named, serverAddress }) => {
      const [model = "", version = ""] = named.split(":");
      return serverAddress ? [{ name: id, model, version, address: serverAddress }] : [];
    });
  }

  states(): ContainerState[] {
    return Array.from(this.#containers, ({ state }) => state);
  }

  /**
   * Finds a container for a job at once. The job has then joined the container, which it must leave afterwards.
   * @param names of the idle containers that may be stopped for it
   * @returns undefined if a container is about to have room, which `join` waits for; or why there is no room
   */
  reserve(
    job: JobOrder,
    parts: ContainerParts,
    names: readonly string[],
  ): Container | string | undefined {
    const specification = specify(job);
    if (this.#isSuspect(specification.key)) return undefined;
    const joinable = job.start ? undefined : this.#joinable(specification.key);
    const container = joinable ?? this.#start(specification, parts, names, job.start);
    if (container) return this.#joined(container, job);
    return this.#ledger.problem(specification.hardware) ?? NO_ROOM;
  }

  /** Joins the job to a container, which it must leave afterwards. */
  async join(job: JobOrder, parts: ContainerParts, stop: AbortSignal): Promise<Container> {
    const specification = specify(job);
    const waiter = this.#waiters.add(specification);
    try {
      for (;;) {
        stop.throwIfAborted();
        this.#closed.signal.throwIfAborted();
        const container = this.#find(waiter) ?? this.#add(parts, waiter);
        if (container) return this.#joined(container, job);
        const problem = this.#ledger.problem(specification.hardware);
        if (problem !== undefined) throw internal(problem);
        const leaving = this.#leaving(waiter).map((one) => one.stop());
        const end = AbortSignal.any([stop, this.#closed.signal]);
        const next = leaving.length > 0 ? Promise.all(leaving) : this.#change.promise;
        await untilAborted<unknown>(next, end);
      }
    } finally {
      this.#waiters.remove(waiter);
      this.#changed();
    }
  }

  leave(container: Container, ...how: Parameters<Container["leave"]>): void {
    void container.leave(...how).then(() => this.#changed());
    if (this.#containers.delete(container)) this.#containers.add(container);
    this.#changed();
  }

  /**
   * Sets which containers capacity claims hold.
   * @param known the containers to which the list applies
   */
  claim(names: readonly string[], known: readonly Pick<ContainerState, "name">[]): void {
    const isKnown = new Set(known.map(({ name }) => name));
    for (const container of this.#containers)
      if (isKnown.has(container.id)) container.claim(names.includes(container.id));
  }

  /** Call this when GPUs are lost or back. Runs with a lost GPU go on as long as they can. */
  devicesChanged(): void {
    for (const container of [...this.#containers])
      if (container.gpus.some((gpu) => this.#ledger.isLost(gpu))) container.retire();
    this.#changed();
  }

  adopt(left: LeftContainer, parts: ContainerParts): void {
    const { name, hardware, gpus } = left;
    const lease = this.#ledger.taken(name, hardware, gpus);
    const plan = { id: name, specification: specificationOf(left), lease, left };
    this.#keep(new Container({ ...plan, room: Promise.resolve() }, parts), lease);
    // A GPU may have failed between the two processes.
    this.devicesChanged();
  }

  /** @returns what the next process needs to adopt the idle containers */
  left(): LeftContainer[] {
    return [...this.#containers].flatMap(({ left }) => left ?? []);
  }

  /** Stops all containers but those with these names; their runs fail. */
  async close(left: readonly string[] = []): Promise<void> {
    this.#closed.abort(internal("the runner is stopping"));
    const others = [...this.#containers].filter(({ id }) => !left.includes(id));
    await Promise.all(others.map((container) => container.stop()));
  }

  /**
   * The idle containers that stop to make room for this waiter's: those used longest ago, and only
   * as many as it takes. None if that is not enough, or if enough are ending already, each of which
   * triggers a change.
   */
  #leaving(waiter: Waiter): Container[] {
    if (this.#isSuspect(waiter.specification.key) || !this.#waiters.leads(waiter)) return [];
    const ending = [...this.#containers].filter(({ isEnding }) => isEnding);
    const fits = (leaving: Container[]) =>
      this.#ledger.fits(
        waiter.specification.hardware,
        this.#waiters.ahead(waiter),
        [...ending, ...leaving].map(({ lease }) => lease),
      );
    let leaving = [...this.#containers].filter(({ isEvictable }) => isEvictable);
    if (!fits(leaving)) return [];
    for (const container of leaving.toReversed()) {
      const others = leaving.filter((one) => one !== container);
      if (fits(others)) leaving = others;
    }
    return leaving;
  }

  /** Prefers the most recently used container, so that the others reach their idle timeout. */
  #joinable(key: string): Container | undefined {
    const candidates = [...this.#containers].filter((one) => one.key === key && one.hasRoom);
    return candidates.findLast(({ isReady }) => isReady) ?? candidates.at(-1);
  }

  #find(waiter: Waiter): Container | undefined {
    if (this.#waiters.mustWait(waiter)) return undefined;
    return this.#joinable(waiter.specification.key);
  }

  #joined(container: Container, job: JobOrder): Container {
    container.join(runIdOf(job));
    this.#changed();
    return container;
  }

  /**
   * Starts a container in free room, or stops as few as possible of the containers in `names` that are idle.
   * Other idle containers are stopped only if memory or processors are short, which the pool cannot know.
   */
  #start(
    specification: Specification,
    parts: ContainerParts,
    names: readonly string[],
    isClaimed = false,
  ): Container | undefined {
    const { hardware } = specification;
    const evictable = [...this.#containers].filter(({ isEvictable }) => isEvictable);
    const named = [...this.#containers].filter(
      ({ id, isUnused }) => isUnused && names.includes(id),
    );
    const leasesOf = (containers: Container[]) => containers.map(({ lease }) => lease);
    const isShort = this.#ledger.countsFit(hardware, leasesOf(named));
    const idle = isShort ? [...new Set([...named, ...evictable])] : named;
    for (let count = 0; count <= idle.length; count++) {
      const instead = idle.slice(0, count);
      const leases = leasesOf(instead);
      if (!this.#ledger.fits(hardware, [], leases)) continue;
      for (const lease of leases) lease.release();
      for (const one of instead) void one.stop();
      const room = Promise.all(instead.map(({ ended }) => ended));
      return this.#make(specification, parts, [], room, isClaimed);
    }
    return undefined;
  }

  #add(parts: ContainerParts, waiter: Waiter): Container | undefined {
    const { specification } = waiter;
    if (this.#isSuspect(specification.key)) return undefined;
    return this.#make(specification, parts, this.#waiters.ahead(waiter));
  }

  /** @param room resolves when the containers whose GPUs and memory this one takes over have ended */
  #make(
    specification: Specification,
    parts: ContainerParts,
    ahead: readonly JobHardware[],
    room: Promise<unknown> = Promise.resolve(),
    isClaimed = false,
  ): Container | undefined {
    const id = randomUUID();
    const lease = this.#ledger.lease(id, specification.hardware, ahead);
    if (!lease) return undefined;
    const container = new Container({ id, specification, lease, room, isClaimed }, parts);
    this.#keep(container, lease, room);
    return container;
  }

  #keep(container: Container, lease: Lease, room: Promise<unknown> = Promise.resolve()): void {
    this.#containers.add(container);
    void container.ready.then(() => this.#changed());
    void container.ended.then(async () => {
      this.#containers.delete(container);
      this.#changed();
      // The containers that this one replaces may still use its GPUs and memory when it ends early.
      await room;
      lease.release();
      this.#changed();
    });
  }

  /** Whether a container of this kind may be broken: another one might be loaded in vain. */
  #isSuspect(key: string): boolean {
    return [...this.#containers].some((one) => one.key === key && one.isSuspect);
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
    this.#onChange();
  }
}

/**
 * MAX_WAIT_MS is about as long as another model takes to load: with a shorter wait, the pool would load
 * models all the time.
 */
const MAX_WAIT_MS = 60_000;

interface Waiter {
  specification: Specification;
  since: number;
}

class Waiters {
  readonly #queue: Waiter[] = [];

  add(specification: Specification): Waiter {
    const waiter = { specification, since: performance.now() };
    this.#queue.push(waiter);
    return waiter;
  }

  remove(waiter: Waiter): void {
    this.#queue.splice(this.#queue.indexOf(waiter), 1);
  }

  /** Whether the first waiter has waited so long that no other job may go before it. */
  mustWait(waiter: Waiter): boolean {
    const [first = waiter] = this.#queue;
    return first !== waiter && performance.now() - first.since > MAX_WAIT_MS;
  }

  /**
   * Whether the waiter is to have a container of its own; the waiters behind it will share that container.
   */
  leads(waiter: Waiter): boolean {
    const { key, maxConcurrency } = waiter.specification;
    const alike = this.#queue.filter(({ specification }) => specification.key === key);
    return alike.indexOf(waiter) % maxConcurrency === 0;
  }

  /** Returns the hardware classes of the containers for earlier waiters. */
  ahead(waiter: Waiter): JobHardware[] {
    const before = this.#queue.slice(0, this.#queue.indexOf(waiter));
    return before
      .filter((one) => this.leads(one))
      .map(({ specification }) => specification.hardware);
  }
}
