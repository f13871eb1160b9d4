/**
 * A shadow of a pool, which decides by the same function from what is visible outside. One job at a time is
 * asked for, and its result is passed to `ran` before the next.
 */
import { decide } from "../../../src/domain/scheduling/decide/decide.ts";
import { PoolState } from "../../../src/domain/scheduling/decide/pool-state.ts";
import type { Ask, Decision } from "../../../src/domain/scheduling/decide/types.ts";
import type { Class } from "./gpus.ts";

export interface Model {
  name: string;
  hardware: Class;
  gpus: number;
}

/** The box and container that a job ran in. Containers are identified by their processes. */
export interface Choice {
  box: string;
  /** The process that the job joined; undefined if the job got a new container. */
  joined: number | undefined;
  /** The processes of containers that were stopped for the job. */
  stopped: number[];
}

interface Box {
  gpus: number;
  /** The number of the box's last hand-out. */
  handed: number;
  containers: Map<number, Model>;
}

/**
 * The ratio of two containers' eviction scores from which either may be stopped. The score depends on how
 * long setups took, which is only roughly known here.
 */
const NEAR = 0.75;

export class ShadowPool {
  readonly #state = new PoolState();
  readonly #boxes = new Map<string, Box>();
  readonly #classes: readonly string[];
  #asks = 0;

  /** @param boxes the number of GPUs of each box */
  constructor(boxes: Record<string, number>, classes: readonly string[]) {
    this.#classes = classes;
    for (const [name, gpus] of Object.entries(boxes)) {
      this.#boxes.set(name, { gpus, handed: 0, containers: new Map() });
      this.#report(name);
      this.#state.setTakes(name, true);
    }
  }

  /** Returns the processes of all known containers. */
  get processes(): number[] {
    return [...this.#boxes.values()].flatMap(({ containers }) => [...containers.keys()]);
  }

  /** Decides about a job, and then takes over the real choice. @param real the choice of the real pool */
  decide(model: Model, real: Choice): { wanted: Choice; isNear: boolean } {
    const now = Date.now();
    const ask = this.#ask(model, now);
    this.#state.ask(ask);
    const decision = decide(this.#state, now);
    if (decision.do === "nothing") throw new Error(`there is no place for ${model.name}`);
    const isNear = this.#isNear(decision, real, now);
    const { box, joined, stopped } = real;
    const { notes } = decision;
    const done: Decision =
      joined === undefined
        ? { do: "start", job: ask.id, box, stop: stopped.map(String), notes }
        : { do: "join", job: ask.id, box, container: String(joined), notes };
    const known = this.#boxes.get(box);
    if (known) known.handed = this.#state.apply(done, now)?.number ?? 0;
    return { wanted: choiceOf(decision), isNear };
  }

  /** Records that a job has run and its container is idle. @param setupMs of a new container */
  ran(model: Model, pid: number, { box, stopped }: Choice, setupMs: number | undefined): void {
    const known = this.#boxes.get(box);
    for (const one of stopped) known?.containers.delete(one);
    known?.containers.set(pid, model);
    if (setupMs !== undefined) this.#state.measured(model.name, { setup_ms: setupMs });
    this.#report(box);
  }

  #ask({ name, hardware, gpus }: Model, at: number): Ask {
    this.#asks += 1;
    const what = {
      id: `${this.#asks}`,
      account: "ada",
      priority: "normal",
      max_concurrency: 1,
    } as const;
    return { ...what, hardware, gpus, key: name, image: name, run_limit_ms: 1_800_000, at };
  }

  /** Whether both choices stop containers, and those that were really stopped have hardly higher scores. */
  #isNear(decision: Decision, { joined, stopped }: Choice, now: number): boolean {
    if (decision.do !== "start" || joined !== undefined) return false;
    const [wanted, real] = [decision.stop, stopped.map(String)].map((names) =>
      Math.max(...names.map((name) => this.#score(name, now))),
    );
    return wanted !== undefined && real !== undefined && wanted >= real * NEAR;
  }

  #score(name: string, now: number): number {
    for (const box of this.#state.fleet.boxes.values()) {
      const container = box.containers.get(name);
      if (container) return this.#state.evictionScores.of(container, now);
    }
    return Number.NaN;
  }

  #report(name: string): void {
    const classes = this.#classes;
    const box = this.#boxes.get(name);
    if (!box) return;
    const { gpus, handed } = box;
    const since = Date.now();
    const containers = [...box.containers].map(([pid, { name: key, hardware, gpus: held }]) => ({
      ...{ id: `${pid}`, key, image: key, hardware, gpus: held, since },
      ...{ phase: "ready" as const, users: 0, max_concurrency: 1, runs: [] },
    }));
    const limits = { slots: gpus, containers_max: gpus, gpus };
    const view = { id: name, classes, ...limits, handed, handouts: [], containers, images: NONE };
    this.#state.report(view, since);
  }
}

const NONE: ReadonlySet<string> = new Set();

const choiceOf = (decision: Exclude<Decision, { do: "nothing" }>): Choice =>
  decision.do === "join"
    ? { box: decision.box, joined: Number(decision.container), stopped: [] }
    : { box: decision.box, joined: undefined, stopped: decision.stop.map(Number) };
