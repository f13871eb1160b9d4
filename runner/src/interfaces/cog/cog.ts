/** The Cog interface: readiness, and the session that follows. */
import { withPlainTools } from "../../../../src/domain/vendora/plain-tools.ts";
import { external, failed } from "../../containers/failure.ts";
import { sleep } from "../../lib/wait.ts";
import { keyDemanded, refusesMany, tooMany } from "../advice.ts";
import { type Answer, ContainerClient } from "../http.ts";
import type { Connection, Outcome, Run, ServerInterface, Session, Timing } from "../interface.ts";
import { ServerFailure } from "../vendora/error.ts";
import { asAsked, chatInput } from "../vendora/request.ts";
import { describe } from "./description.ts";
import { health, parseAs } from "./protocol.ts";
import { CogRun } from "./run.ts";
import type { SessionParts } from "./session-parts.ts";
import type { CogWebhooks } from "./webhooks.ts";

/** A container that is up answers in no time; one whose machine is busy gets a little. */
const ANSWER_MS = 2_000;
/** Most models that are ready at all soon are so in their first second: look more often. */
const EAGER_MS = 1_000;
const EAGER_POLL = 20;
/** Of the logs of a setup that failed, the end says why. The setup events have all of it. */
const MAX_SETUP_LOGS = 8_000;

export class CogInterface implements ServerInterface {
  readonly #receiver: CogWebhooks;
  readonly #timing: Timing;

  constructor(receiver: CogWebhooks, timing: Timing) {
    this.#receiver = receiver;
    this.#timing = timing;
  }

  environment(maxConcurrency: number, token: string): Record<string, string> {
    return {
      // Seconds between two webhooks with logs; below 0.1 Cog up to 0.16 drops events.
      COG_THROTTLE_RESPONSE_INTERVAL: "0.1",
      // Unset where there is none: models that are not async refuse it.
      ...(maxConcurrency > 1 ? { COG_MAX_CONCURRENCY: String(maxConcurrency) } : {}),
      WEBHOOK_AUTH_TOKEN: token,
    };
  }

  async connect(
    connection: Connection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    try {
      const end = AbortSignal.any([connection.gone, stop]);
      const { maxConcurrency } = connection;
      const { max } = await this.#ready(client, { maxConcurrency, report, end });
      if (max !== undefined && max < maxConcurrency) throw tooMany(maxConcurrency, max);
      const described = await describe(client, { report, end });
      const [receiver, timing] = [this.#receiver, this.#timing];
      return new CogSession(connection, { client, ...described, receiver, timing });
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async #ready(client: ContainerClient, { maxConcurrency, report, end }: Wait): Promise<Seen> {
    const begun = performance.now();
    let seen = 0;
    for (;;) {
      end.throwIfAborted();
      const answer = await client
        .call({ method: "GET", path: "/health-check", timeout: ANSWER_MS })
        .catch(() => undefined);
      const health = answer ? readHealth(answer) : { status: "STARTING", logs: "" };
      const { status, logs } = health;
      if (logs.length > seen) report(logs.slice(seen));
      seen = Math.max(seen, logs.length);
      if (status === "READY" || status === "BUSY") return health;
      if (status === "SETUP_FAILED" || status === "DEFUNCT") {
        const setupLogs = logs.slice(-MAX_SETUP_LOGS).trimEnd();
        const why = { setupLogs };
        if (maxConcurrency > 1 && refusesMany(logs)) throw tooMany(maxConcurrency, undefined, why);
        throw external("the model's setup failed", why);
      }
      const eager = performance.now() - begun < EAGER_MS;
      const { readinessPoll } = this.#timing;
      await sleep(eager ? Math.min(EAGER_POLL, readinessPoll) : readinessPoll, end);
    }
  }
}

interface Wait {
  maxConcurrency: number;
  report: (logs: string) => void;
  end: AbortSignal;
}

interface Seen {
  status: string;
  logs: string;
  /** How many runs it takes at a time, where it says so. */
  max?: number | undefined;
}

function readHealth({ status, body }: Answer): Seen {
  if (status === 404) {
    throw external("the container has no /health-check: it speaks no Cog, or one before 0.7");
  }
  if (status === 401 || status === 403) throw keyDemanded(`/health-check with ${status}`);
  const parsed = status === 200 ? parseAs(health, body) : undefined;
  if (status === 200 && !parsed) throw external("the container's /health-check is not Cog's");
  const { setup, concurrency } = parsed ?? {};
  const max = concurrency?.max ?? undefined;
  return { status: parsed?.status ?? "STARTING", logs: setup?.logs ?? "", max };
}

class CogSession implements Session {
  readonly endsByClosing = false;
  readonly #connection: Connection;
  readonly #parts: SessionParts;

  constructor(connection: Connection, parts: SessionParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  get declaresFiles(): boolean {
    return this.#parts.declaresFiles;
  }

  async run(run: Run): Promise<Outcome> {
    const { input } = run;
    if (run.call !== "responses") return this.#run(run, this.#parts);
    if (!this.#parts.chatOnly)
      return this.#run({ ...run, input: withPlainTools(input) }, this.#parts);
    const parts = { ...this.#parts, asAsked: (said: ServerFailure) => asAsked(said, input) };
    try {
      return await this.#run({ ...run, input: chatInput(input) }, parts);
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      return { finish: failed(error), container: "kept", refused: true, excused: true };
    }
  }

  #run(run: Run, parts: SessionParts): Promise<Outcome> {
    return new CogRun(run, this.#connection, parts).toEnd();
  }

  async shutdown(): Promise<void> {
    const call = { method: "POST", path: "/shutdown", timeout: ANSWER_MS } as const;
    // A server that has no such call, or is gone already, gets its signal next.
    await this.#parts.client.call(call).catch(() => undefined);
  }

  close(): void {
    this.#parts.client.close();
  }
}
