/** The description that a container's server gives of itself, for runs whose version waits for it. */
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import type { Session } from "../interfaces/interface.ts";

export class SelfDescription {
  #told: ServerDescription | undefined;
  #first: Promise<void> | undefined;
  #isAsked = false;

  /** Asks the server while the run goes on, unless it has answered or is being asked already. */
  ask(session: Session): void {
    if (this.#told || this.#isAsked) return;
    this.#isAsked = true;
    const asking = this.#ask(session);
    this.#first ??= asking;
  }

  /**
   * Call this when a run that has asked has ended. It waits for the first answer only: a server that never
   * answers would delay each run by seconds. The answer of a slow server is there by a later run.
   */
  async told(): Promise<ServerDescription | undefined> {
    await this.#first;
    return this.#told;
  }

  async #ask(session: Session): Promise<void> {
    this.#told = await session.describe();
    this.#isAsked = false;
  }
}
