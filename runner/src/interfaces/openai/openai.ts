/** The `vendora` interface: OpenAI-compatible servers, such as vLLM and llama.cpp. */
import type { OpenAiCall, ServerDescription } from "../../../../src/protocol/runner.ts";
import { ContainerClient } from "../container-client.ts";
import { describeServer } from "../describe-server.ts";
import type {
  ContainerConnection,
  Outcome,
  Run,
  ServerInterface,
  Session,
  Timing,
} from "../interface.ts";
import { LargeReads } from "../large-reads.ts";
import { waitUntilReady } from "./ready.ts";
import { ReleaseWatch } from "./release.ts";
import { OpenAiRun } from "./run.ts";
import type { SessionParts } from "./session-parts.ts";

export class OpenAiInterface implements ServerInterface {
  readonly #timing: Timing;
  readonly #large: LargeReads;

  constructor(timing: Timing, large = new LargeReads()) {
    this.#timing = timing;
    this.#large = large;
  }

  /** The engine sets the listen address; the concurrency is a flag of the server. */
  environment(): Record<string, string> {
    return {};
  }

  async connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    const unfollow = connection.follow(report);
    try {
      const end = AbortSignal.any([connection.ended, stop]);
      const server = await waitUntilReady(client, this.#timing, report, end, connection.watch);
      const { ended } = connection;
      const [timing, large] = [this.#timing, this.#large];
      const { health, model } = server;
      const openRuns = new Set<Run>();
      const release = new ReleaseWatch({
        client,
        health,
        openCount: () => openRuns.size,
        pollMs: timing.releasePollMs,
      });
      const parts = {
        client,
        ended,
        timing,
        large,
        health,
        model,
        openRuns,
        release,
        missing: new Set<OpenAiCall>(),
      };
      return new OpenAiSession(parts);
    } catch (error) {
      client.close();
      throw error;
    } finally {
      unfollow();
    }
  }
}

class OpenAiSession implements Session {
  readonly declaresFiles = false;
  readonly stopsOnDisconnect = true;
  readonly #parts: SessionParts;

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  run(run: Run): Promise<Outcome> {
    return new OpenAiRun(run, this.#parts).execute();
  }

  /** OpenAI-compatible servers have no endpoint for a shutdown: the engine sends a signal next. */
  async shutdown(): Promise<void> {}

  describe(): Promise<ServerDescription | undefined> {
    return describeServer(this.#parts.client);
  }

  close(): void {
    this.#parts.client.close();
  }
}
