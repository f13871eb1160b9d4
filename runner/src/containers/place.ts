/** A job's place in a container, from when it is handed out: its run takes it, or it is given up. */
import type { Place } from "../jobs/executor.ts";
import type { Container } from "./container.ts";

export interface ContainerPlaceOptions {
  /** That the job has joined. Undefined: one is about to have room. */
  container: Container | undefined;
  run: (
    ...run: [...Parameters<Place["run"]>, container: Container | undefined]
  ) => ReturnType<Place["run"]>;
  leave: (container: Container) => void;
}

export class ContainerPlace implements Place {
  readonly #options: ContainerPlaceOptions;
  #container: Container | undefined;

  constructor(options: ContainerPlaceOptions) {
    this.#options = options;
    this.#container = options.container;
  }

  run: Place["run"] = (job, reporter, signals) =>
    this.#options.run(job, reporter, signals, this.#take());

  leave(): void {
    const container = this.#take();
    if (container) this.#options.leave(container);
  }

  #take(): Container | undefined {
    const container = this.#container;
    this.#container = undefined;
    return container;
  }
}
