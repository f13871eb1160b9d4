/** The vendora interface: servers that speak that convention, as vLLM and llama.cpp's do. */
import { ContainerClient } from "../http.ts";
import type { Connection, Outcome, Run, ServerInterface, Session, Timing } from "../interface.ts";
import { LargeReads } from "../large-reads.ts";
import { awaitServer } from "./ready.ts";
import { Release } from "./release.ts";
import { VendoraRun } from "./run.ts";
import type { SessionParts } from "./session-parts.ts";

export class VendoraInterface implements ServerInterface {
  readonly #timing: Timing;
  readonly #large: LargeReads;

  constructor(timing: Timing, large = new LargeReads()) {
    this.#timing = timing;
    this.#large = large;
  }

  /** Where to listen the engine says; how many requests at once is a flag of the server's own. */
  environment(): Record<string, string> {
    return {};
  }

  async connect(
    connection: Connection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    const unfollow = connection.follow(report);
    try {
      const end = AbortSignal.any([connection.gone, stop]);
      const served = await awaitServer(client, this.#timing, report, end);
      const { gone } = connection;
      const [timing, large] = [this.#timing, this.#large];
      const { health, model } = served;
      const open = new Set<Run>();
      const release = new Release({
        client,
        health,
        open: () => open.size,
        pause: timing.releasePoll,
      });
      const parts = { client, gone, timing, large, health, model, open, release, chatOnly: false };
      return new VendoraSession(parts);
    } catch (error) {
      client.close();
      throw error;
    } finally {
      unfollow();
    }
  }
}

class VendoraSession implements Session {
  readonly declaresFiles = false;
  readonly endsByClosing = true;
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  run(run: Run): Promise<Outcome> {
    return new VendoraRun(run, this.#parts).toEnd();
  }

  /** There is no call for it: the signal of the engine comes next. */
  async shutdown(): Promise<void> {}

  close(): void {
    this.#parts.client.close();
  }
}
