/** A box of the simulation: it starts the jobs that it gets, and reports its containers. */
import type { BoxView, Handout } from "../../src/domain/scheduling/decide/types.ts";
import { HARDWARE, type SimulatedJob } from "./trace.ts";

const SLOTS = 100;

interface SimContainer {
  id: string;
  key: string;
  hardware: string;
  /** The time at which the container is ready or its run ends; undefined while it is idle. */
  due: number | undefined;
  phase: "starting" | "ready";
  since: number;
  idle_since: number | undefined;
  run: { handout: number; job: SimulatedJob; began: number } | undefined;
}

/** An event in a box. */
export type Happening =
  | { what: "ready"; key: string; setup_ms: number }
  | { what: "began"; job: SimulatedJob }
  | { what: "ended"; key: string; run_ms: number };

export class SimBox {
  readonly id: string;
  readonly #gpus: number;
  readonly #containers = new Map<string, SimContainer>();
  readonly #images = new Set<string>();
  #handed = 0;

  constructor(id: string, gpus: number) {
    this.id = id;
    this.#gpus = gpus;
  }

  /** Returns the time of the next event. */
  get due(): number {
    let due = Number.POSITIVE_INFINITY;
    for (const one of this.#containers.values())
      if (one.due !== undefined && one.due < due) due = one.due;
    return due;
  }

  take({ number, ask, container, starts, stop, at }: Handout, job: SimulatedJob): Happening[] {
    this.#handed = number;
    for (const id of stop) {
      if (this.#containers.get(id)?.run) throw new Error("a container that runs was stopped");
      this.#containers.delete(id);
    }
    const run = { handout: number, job, began: at };
    if (starts) {
      if (this.#containers.size >= this.#gpus) throw new Error("more containers than GPUs");
      this.#images.add(ask.image);
      this.#containers.set(container, {
        id: container,
        key: ask.key,
        hardware: ask.hardware,
        due: at + job.setup_ms,
        phase: "starting",
        since: at,
        idle_since: undefined,
        run,
      });
      return [];
    }
    const joined = this.#containers.get(container);
    if (!joined || joined.run) throw new Error("a container that takes no job was given one");
    joined.run = run;
    joined.due = at + job.run_ms;
    joined.idle_since = undefined;
    return [{ what: "began", job }];
  }

  /** Returns the events that are due by now. */
  advance(now: number): Happening[] {
    return [...this.#containers.values()].flatMap((one) =>
      one.due !== undefined && one.due <= now ? this.#next(one, one.due) : [],
    );
  }

  #next(one: SimContainer, now: number): Happening[] {
    const { run, key } = one;
    if (!run) return [];
    if (one.phase === "starting") {
      const setup_ms = now - one.since;
      Object.assign(one, { phase: "ready", since: now, due: now + run.job.run_ms });
      run.began = now;
      return [
        { what: "ready", key, setup_ms },
        { what: "began", job: run.job },
      ];
    }
    Object.assign(one, { due: undefined, run: undefined, idle_since: now });
    return [{ what: "ended", key, run_ms: now - run.began }];
  }

  view(): BoxView {
    const containers = [...this.#containers.values()];
    return {
      id: this.id,
      classes: [HARDWARE],
      slots: SLOTS,
      handed: this.#handed,
      handouts: containers.flatMap(({ run }) => (run ? [run.handout] : [])),
      containers_max: SLOTS,
      gpus: this.#gpus,
      images: this.#images,
      containers: containers.map(({ id, key, hardware, phase, since, idle_since, run }) => ({
        id,
        key,
        image: key,
        hardware,
        gpus: 1,
        phase,
        users: run ? 1 : 0,
        max_concurrency: 1,
        since,
        idle_since,
        runs: run && phase === "ready" ? [run.began] : [],
      })),
    };
  }
}
