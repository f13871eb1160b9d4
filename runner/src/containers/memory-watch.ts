/**
 * How much memory the containers use, measured now and then. It changes all the time: so it is told with
 * what is told anyway, and is no reason to tell something.
 */
import { type ContainerState, containerState } from "../../../src/protocol/runner-state.ts";
import type { Engine, RunningContainer } from "../engines/engine.ts";
import { repeat } from "../lib/repeat.ts";

/** As often as a runner without changes tells something. */
const INTERVAL_MS = 30_000;
const ANSWER_MS = 5_000;

const { memory_bytes } = containerState.shape;

export class MemoryWatch {
  readonly #engine: Pick<Engine, "memory">;
  readonly #intervalMs: number;
  #used: ReadonlyMap<RunningContainer, number> = new Map();
  #end = () => {};

  constructor(engine: Pick<Engine, "memory">, intervalMs = INTERVAL_MS) {
    this.#engine = engine;
    this.#intervalMs = intervalMs;
  }

  start(): void {
    this.#end = repeat(this.#intervalMs, async () => {
      this.#used = await this.#engine.memory(AbortSignal.timeout(ANSWER_MS));
    });
  }

  stop(): void {
    this.#end();
  }

  /** As last measured; nothing if that is not known. */
  usedBy(container: RunningContainer): Pick<ContainerState, "memory_bytes"> {
    // The control plane would refuse all that the runner tells with a number that cannot be true.
    const { data } = memory_bytes.safeParse(this.#used.get(container));
    return data === undefined ? {} : { memory_bytes: data };
  }
}
