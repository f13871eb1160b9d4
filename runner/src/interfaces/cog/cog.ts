/** The Cog interface: waits until a container is ready, then opens a session. */
import { withPlainTools } from "../../../../src/domain/vendora/plain-tools.ts";
import { sleep } from "../../../../src/lib/timeout.ts";
import type { ServerDescription } from "../../../../src/protocol/runner.ts";
import { external, failedFinish } from "../../containers/failure.ts";
import { apiKeyRequired, concurrencyTooHigh, rejectsConcurrency } from "../advice.ts";
import { type Answer, ContainerClient } from "../container-client.ts";
import { describeServer } from "../describe-server.ts";
import type {
  ContainerConnection,
  Outcome,
  Run,
  ServerInterface,
  Session,
  Timing,
} from "../interface.ts";
import { ServerFailure } from "../vendora/error.ts";
import { chatBody, inCallersTerms } from "../vendora/request.ts";
import { describe } from "./description.ts";
import { health, parseAs } from "./protocol.ts";
import { CogRun } from "./run.ts";
import type { SessionParts } from "./session-parts.ts";
import type { CogWebhooks } from "./webhooks.ts";

/** A healthy container answers at once; one on a busy machine gets some time. */
const ANSWER_MS = 2_000;
/** Most models that load quickly do so within the first second: check more often. */
const EAGER_MS = 1_000;
const EAGER_POLL_MS = 20;
/** The end of a failed setup's logs says why. The setup events have all of it. */
const MAX_SETUP_LOG_CHARS = 8_000;

export class CogInterface implements ServerInterface {
  readonly #webhooks: CogWebhooks;
  readonly #timing: Timing;

  constructor(webhooks: CogWebhooks, timing: Timing) {
    this.#webhooks = webhooks;
    this.#timing = timing;
  }

  environment(maxConcurrency: number, token: string): Record<string, string> {
    return {
      // Seconds between two webhooks with logs; below 0.1 Cog up to 0.16 drops events.
      COG_THROTTLE_RESPONSE_INTERVAL: "0.1",
      // Unset for 1: models that are not async reject it.
      ...(maxConcurrency > 1 ? { COG_MAX_CONCURRENCY: String(maxConcurrency) } : {}),
      WEBHOOK_AUTH_TOKEN: token,
    };
  }

  async connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    try {
      const end = AbortSignal.any([connection.ended, stop]);
      const { maxConcurrency } = connection;
      const { max } = await this.#ready(client, { maxConcurrency, report, end });
      if (max !== undefined && max < maxConcurrency) throw concurrencyTooHigh(maxConcurrency, max);
      const description = await describe(client, { report, end });
      const [webhooks, timing] = [this.#webhooks, this.#timing];
      return new CogSession(connection, { client, ...description, webhooks, timing });
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async #ready(
    client: ContainerClient,
    { maxConcurrency, report, end }: Wait,
  ): Promise<ServerHealth> {
    const startedAt = performance.now();
    let reportedChars = 0;
    for (;;) {
      end.throwIfAborted();
      const answer = await client
        .call({ method: "GET", path: "/health-check", timeoutMs: ANSWER_MS })
        .catch(() => undefined);
      const health = answer ? readHealth(answer) : { status: "STARTING", logs: "" };
      const { status, logs } = health;
      if (logs.length > reportedChars) report(logs.slice(reportedChars));
      reportedChars = Math.max(reportedChars, logs.length);
      if (status === "READY" || status === "BUSY") return health;
      if (status === "SETUP_FAILED" || status === "DEFUNCT") {
        const setupLogs = logs.slice(-MAX_SETUP_LOG_CHARS).trimEnd();
        const why = { setupLogs };
        if (maxConcurrency > 1 && rejectsConcurrency(logs))
          throw concurrencyTooHigh(maxConcurrency, undefined, why);
        throw external("the model's setup failed", why);
      }
      const eager = performance.now() - startedAt < EAGER_MS;
      const { readinessPollMs } = this.#timing;
      await sleep(eager ? Math.min(EAGER_POLL_MS, readinessPollMs) : readinessPollMs, end);
    }
  }
}

interface Wait {
  maxConcurrency: number;
  report: (logs: string) => void;
  end: AbortSignal;
}

interface ServerHealth {
  status: string;
  logs: string;
  /** The concurrency limit, if reported. */
  max?: number | undefined;
}

function readHealth({ status, body }: Answer): ServerHealth {
  if (status === 404) {
    throw external(
      "the container has no /health-check: it is not a Cog container, or older than Cog 0.7",
    );
  }
  if (status === 401 || status === 403) throw apiKeyRequired(`/health-check with ${status}`);
  const parsed = status === 200 ? parseAs(health, body) : undefined;
  if (status === 200 && !parsed)
    throw external("the container's /health-check response is not Cog's");
  const { setup, concurrency } = parsed ?? {};
  const max = concurrency?.max ?? undefined;
  return { status: parsed?.status ?? "STARTING", logs: setup?.logs ?? "", max };
}

class CogSession implements Session {
  readonly stopsOnDisconnect = false;
  readonly #connection: ContainerConnection;
  readonly #parts: SessionParts;

  constructor(connection: ContainerConnection, parts: SessionParts) {
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
    const parts = {
      ...this.#parts,
      inCallersTerms: (refusal: ServerFailure) => inCallersTerms(refusal, input),
    };
    try {
      return await this.#run({ ...run, input: chatBody(input) }, parts);
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      return {
        finish: failedFinish(error),
        container: "kept",
        inputRejected: true,
        notContainersFault: true,
      };
    }
  }

  #run(run: Run, parts: SessionParts): Promise<Outcome> {
    return new CogRun(run, this.#connection, parts).execute();
  }

  async shutdown(): Promise<void> {
    const call = { method: "POST", path: "/shutdown", timeoutMs: ANSWER_MS } as const;
    // A server without this endpoint, or one that is gone, gets a signal next.
    await this.#parts.client.call(call).catch(() => undefined);
  }

  describe(): Promise<ServerDescription> {
    return describeServer(this.#parts.client);
  }

  close(): void {
    this.#parts.client.close();
  }
}
