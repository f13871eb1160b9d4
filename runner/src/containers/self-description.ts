/** What a container's server tells of itself, for the runs in it whose version waits for that. */
import type { ServerDescription } from "../../../src/protocol/runner.ts";
import type { Session } from "../interfaces/interface.ts";

export class SelfDescription {
  #told: ServerDescription | undefined;
  #first: Promise<void> | undefined;
  #isAsked = false;

  /** Asks beside the run, unless it has told, or is asked already. */
  ask(session: Session): void {
    if (this.#told || this.#isAsked) return;
    this.#isAsked = true;
    const asking = this.#ask(session);
    this.#first ??= asking;
  }

  /**
   * To be called when a run that has asked has ended. Only the first answer is waited for: a server that
   * never answers would hold up each run by seconds. One that is slow has told by a later run.
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
