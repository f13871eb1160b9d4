/**
 * The containers of a runner, at most so many at a time. A job shares one that has room, else gets
 * a new one, for which the one that has been idle longest may have to go.
 *
 * Where there are fewer containers than slots, jobs of one model could keep its container busy for
 * ever. So room is given in the order in which jobs came, and once the first in line has waited
 * too long nobody joins before it: what runs comes to its end, and a container falls idle.
 */
import { createHash } from "node:crypto";
import { referenceOf } from "../engines/engine.ts";
import type { RunnableJob, WarmContainer } from "../jobs/executor.ts";
import { unlessAborted } from "../lib/wait.ts";
import { Container, type ContainerParts, type Specification } from "./container.ts";
import { internal } from "./failure.ts";

/** Milliseconds. Another model takes about as long to load: more often it would be all loading. */
const PATIENCE = 60_000;

interface Waiting {
  key: string;
  since: number;
}

export class ContainerPool {
  /** In the order of their last use. */
  readonly #containers = new Set<Container>();
  readonly #most: number;
  /** Jobs without a container yet, in the order in which they came. */
  readonly #line: Waiting[] = [];
  readonly #closed = new AbortController();
  #change = Promise.withResolvers<void>();

  constructor(most: number) {
    this.#most = most;
  }

  /** The containers that are up and have room for one more. */
  warm(): WarmContainer[] {
    const open = [...this.#containers].filter(({ isReady, hasRoom }) => isReady && hasRoom);
    return open.map(({ sharing, model }) => ({ key: sharing, model }));
  }

  /** A container that the job has joined; it must leave it. */
  async join(job: RunnableJob, parts: ContainerParts, stop: AbortSignal): Promise<Container> {
    const specification = specify(job);
    const end = AbortSignal.any([stop, this.#closed.signal]);
    const me = { key: specification.key, since: performance.now() };
    this.#line.push(me);
    try {
      for (;;) {
        end.throwIfAborted();
        const container = this.#find(specification.key, me) ?? this.#add(specification, parts, me);
        if (container) {
          container.join();
          return container;
        }
        // One that is stopping already makes itself known as a change.
        const idle = this.#needsOne(specification, me) ? this.#idle : undefined;
        await unlessAborted(idle ? idle.stop() : this.#change.promise, end);
      }
    } finally {
      this.#line.splice(this.#line.indexOf(me), 1);
      this.#changed();
    }
  }

  leave(container: Container, ...how: Parameters<Container["leave"]>): void {
    void container.leave(...how).then(() => this.#changed());
    if (this.#containers.delete(container)) this.#containers.add(container);
    this.#changed();
  }

  /** Ends all of them, and runs in them fail. */
  async close(): Promise<void> {
    this.#closed.abort(internal("the runner is stopping"));
    await Promise.all([...this.#containers].map((container) => container.stop()));
  }

  get #idle(): Container | undefined {
    return [...this.#containers].find(({ users, isReady }) => users === 0 && isReady);
  }

  /** Whether a container is for it to make room for: those after it share that one. */
  #needsOne({ key, maxConcurrency }: Specification, me: Waiting): boolean {
    if (this.#isInDoubt(key)) return false;
    const place = this.#line.filter((one) => one.key === key).indexOf(me);
    return place % maxConcurrency === 0;
  }

  /** Of several the one last used, so that the others may come to their idle end. */
  #find(key: string, me: Waiting): Container | undefined {
    const [first = me] = this.#line;
    if (first !== me && performance.now() - first.since > PATIENCE) return undefined;
    const mine = [...this.#containers].filter((one) => one.key === key && one.hasRoom);
    return mine.findLast(({ isReady }) => isReady) ?? mine.at(-1);
  }

  #add(specification: Specification, parts: ContainerParts, me: Waiting): Container | undefined {
    const before = this.#line.indexOf(me);
    if (this.#isInDoubt(specification.key)) return undefined;
    if (this.#containers.size + before >= this.#most) return undefined;
    const container = new Container(specification, parts);
    this.#containers.add(container);
    void container.ended.then(() => {
      this.#containers.delete(container);
      this.#changed();
    });
    return container;
  }

  /** One more of the kind would be loaded for nothing. */
  #isInDoubt(key: string): boolean {
    return [...this.#containers].some((one) => one.key === key && one.isInDoubt);
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** Other variables are another container: they are its environment. */
function specify({
  keys,
  model,
  image,
  egress,
  variables,
  limits,
  interface: server,
}: RunnableJob): Specification {
  const { max_concurrency: maxConcurrency } = limits;
  const sorted = Object.entries(variables).sort(([a], [b]) => (a < b ? -1 : 1));
  const { container: sharing } = keys;
  const reference = referenceOf(image);
  const parts = JSON.stringify([sharing, server, reference, egress, maxConcurrency, sorted]);
  const key = createHash("sha256").update(parts).digest("hex");
  return { key, sharing, model, image, interface: server, egress, variables, maxConcurrency };
}
