/**
 * The containers of a runner, up to a maximum. A job shares a container that has room, or gets a
 * new one, for which the longest idle container may have to stop.
 *
 * With fewer containers than slots, the jobs of one model could keep its container busy forever. So
 * room is given in the order of arrival, and once the first waiter has waited too long no other job
 * may join a container before it: running jobs finish, and a container becomes idle.
 */
import { untilAborted } from "../../../src/lib/timeout.ts";
import type { RunnableJob, WarmContainer } from "../jobs/executor.ts";
import { Container, type ContainerParts } from "./container.ts";
import { internal } from "./failure.ts";
import { type Specification, specify } from "./specification.ts";

/**
 * About as long as another model takes to load: switching more often would mean loading all the
 * time.
 */
const MAX_WAIT_MS = 60_000;

interface Waiter {
  key: string;
  since: number;
}

export class ContainerPool {
  /** In order of last use. */
  readonly #containers = new Set<Container>();
  readonly #maxContainers: number;
  /** Jobs waiting for a container, in order of arrival. */
  readonly #queue: Waiter[] = [];
  readonly #closed = new AbortController();
  #change = Promise.withResolvers<void>();

  constructor(maxContainers: number) {
    this.#maxContainers = maxContainers;
  }

  /** The containers that are ready and have room for another run. */
  warm(): WarmContainer[] {
    const available = [...this.#containers].filter(({ isReady, hasRoom }) => isReady && hasRoom);
    return available.map(({ key, model }) => ({ key, model }));
  }

  /** Joins the job to a container, which it must leave afterwards. */
  async join(job: RunnableJob, parts: ContainerParts, stop: AbortSignal): Promise<Container> {
    const specification = specify(job);
    const waiter = { key: specification.key, since: performance.now() };
    this.#queue.push(waiter);
    try {
      for (;;) {
        stop.throwIfAborted();
        this.#closed.signal.throwIfAborted();
        const container =
          this.#find(specification.key, waiter) ?? this.#add(specification, parts, waiter);
        if (container) {
          container.join();
          return container;
        }
        // A container that is already stopping triggers a change when it has ended.
        const idle = this.#shouldFreeOne(specification, waiter) ? this.#idle : undefined;
        const end = AbortSignal.any([stop, this.#closed.signal]);
        await untilAborted(idle ? idle.stop() : this.#change.promise, end);
      }
    } finally {
      this.#queue.splice(this.#queue.indexOf(waiter), 1);
      this.#changed();
    }
  }

  leave(container: Container, ...how: Parameters<Container["leave"]>): void {
    void container.leave(...how).then(() => this.#changed());
    if (this.#containers.delete(container)) this.#containers.add(container);
    this.#changed();
  }

  /** Stops all containers; their runs fail. */
  async close(): Promise<void> {
    this.#closed.abort(internal("the runner is stopping"));
    await Promise.all([...this.#containers].map((container) => container.stop()));
  }

  get #idle(): Container | undefined {
    return [...this.#containers].find(({ users, isReady }) => users === 0 && isReady);
  }

  /**
   * Whether this waiter should have an idle container stopped. The waiters behind it share the new
   * one.
   */
  #shouldFreeOne({ key, maxConcurrency }: Specification, waiter: Waiter): boolean {
    if (this.#isSuspect(key)) return false;
    const position = this.#queue.filter((one) => one.key === key).indexOf(waiter);
    return position % maxConcurrency === 0;
  }

  /** Prefers the most recently used container, so that the others reach their idle timeout. */
  #find(key: string, waiter: Waiter): Container | undefined {
    const [first = waiter] = this.#queue;
    if (first !== waiter && performance.now() - first.since > MAX_WAIT_MS) return undefined;
    const candidates = [...this.#containers].filter((one) => one.key === key && one.hasRoom);
    return candidates.findLast(({ isReady }) => isReady) ?? candidates.at(-1);
  }

  #add(specification: Specification, parts: ContainerParts, waiter: Waiter): Container | undefined {
    const ahead = this.#queue.indexOf(waiter);
    if (this.#isSuspect(specification.key)) return undefined;
    if (this.#containers.size + ahead >= this.#maxContainers) return undefined;
    const container = new Container(specification, parts);
    this.#containers.add(container);
    void container.ended.then(() => {
      this.#containers.delete(container);
      this.#changed();
    });
    return container;
  }

  /** Another container of this kind might be loaded for nothing. */
  #isSuspect(key: string): boolean {
    return [...this.#containers].some((one) => one.key === key && one.isSuspect);
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}
