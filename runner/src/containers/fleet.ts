/**
 * The containers of a runner: at most as many as it has slots. A job shares one that has room,
 * else gets a new one, for which the one that has been idle longest may have to go.
 */
import { createHash } from "node:crypto";
import { referenceOf } from "../engines/engine.ts";
import type { RunnableJob } from "../executor.ts";
import { Container, type ContainerParts, type Specification } from "./container.ts";
import { internal } from "./failure.ts";
import { unlessAborted } from "./wait.ts";

export class Fleet {
  /** In the order of their last use. */
  readonly #containers = new Set<Container>();
  readonly #slots: number;
  readonly #closed = new AbortController();
  #change = Promise.withResolvers<void>();

  constructor(slots: number) {
    this.#slots = slots;
  }

  warm(): string[] {
    const open = [...this.#containers].filter(({ isReady, hasRoom }) => isReady && hasRoom);
    return [...new Set(open.map(({ reference }) => reference))];
  }

  /** A container that the job has joined; it must leave it. */
  async join(job: RunnableJob, parts: ContainerParts, stop: AbortSignal): Promise<Container> {
    const specification = specify(job);
    const end = AbortSignal.any([stop, this.#closed.signal]);
    for (;;) {
      end.throwIfAborted();
      const container = this.#find(specification.key) ?? this.#add(specification, parts);
      if (container) {
        container.join();
        return container;
      }
      // One that is stopping already makes itself known as a change.
      const idle = [...this.#containers].find(({ users, isReady }) => users === 0 && isReady);
      await unlessAborted(idle ? idle.stop() : this.#change.promise, end);
    }
  }

  leave(container: Container, ...how: Parameters<Container["leave"]>): void {
    container.leave(...how);
    if (this.#containers.delete(container)) this.#containers.add(container);
    this.#changed();
  }

  /** Ends all of them, and runs in them fail. */
  async close(): Promise<void> {
    this.#closed.abort(internal("the runner is stopping"));
    await Promise.all([...this.#containers].map((container) => container.stop()));
  }

  /** Of several the one last used, so that the others may come to their idle end. */
  #find(key: string): Container | undefined {
    const mine = [...this.#containers].filter((one) => one.key === key && one.hasRoom);
    return mine.findLast(({ isReady }) => isReady) ?? mine.at(-1);
  }

  #add(specification: Specification, parts: ContainerParts): Container | undefined {
    if (this.#containers.size >= this.#slots) return undefined;
    const container = new Container(specification, parts);
    this.#containers.add(container);
    void container.ended.then(() => {
      this.#containers.delete(container);
      this.#changed();
    });
    return container;
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** Other variables are another container: they are its environment. */
function specify({ image, variables, limits, interface: server }: RunnableJob): Specification {
  const { max_concurrency: maxConcurrency } = limits;
  const sorted = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = JSON.stringify([server, referenceOf(image), maxConcurrency, sorted]);
  const key = createHash("sha256").update(parts).digest("hex");
  return { key, image, variables, maxConcurrency };
}
