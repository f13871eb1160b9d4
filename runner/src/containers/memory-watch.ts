/**
 * The memory of the containers, measured at intervals. It changes all the time, so the runner reports it
 * along with other changes only.
 */
import { type ContainerState, containerState } from "../../../src/protocol/runner-state.ts";
import type { Engine, RunningContainer } from "../engines/engine.ts";
import { repeat } from "../lib/repeat.ts";

/** The interval is that of the reports of a runner without changes. */
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

  /** Returns the last measured memory; an empty object if it is not known. */
  usedBy(container: RunningContainer): Pick<ContainerState, "memory_bytes"> {
    // The control plane would refuse the whole snapshot because of an impossible number.
    const { data } = memory_bytes.safeParse(this.#used.get(container));
    return data === undefined ? {} : { memory_bytes: data };
  }
}
