/** The Cog interface: waits until a container is ready, then opens a session. */
import { withPlainTools } from "../../../../src/domain/openai/plain-items.ts";
import { strictChat } from "../../../../src/domain/openai/strict-chat.ts";
import type { ServerDescription } from "../../../../src/protocol/runner.ts";
import { failedFinish } from "../../../../src/run/failure.ts";
import { ServerFailure } from "../../../../src/run/openai/error.ts";
import {
  chatBody,
  inCallersTerms,
  isTranslated,
  translated,
} from "../../../../src/run/openai/translation.ts";
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
import { describe } from "./description.ts";
import { cogEnvironment, waitUntilReady } from "./ready.ts";
import { CogRun, type SessionParts } from "./run.ts";
import type { CogWebhooks } from "./webhooks.ts";

/** The time in which a server must answer the shutdown before it is stopped in another way. */
const ANSWER_MS = 2_000;

export class CogInterface implements ServerInterface {
  readonly #webhooks: CogWebhooks;
  readonly #timing: Timing;

  constructor(webhooks: CogWebhooks, timing: Timing) {
    this.#webhooks = webhooks;
    this.#timing = timing;
  }

  environment(maxConcurrency: number, token: string): Record<string, string> {
    return { ...cogEnvironment(maxConcurrency), WEBHOOK_AUTH_TOKEN: token };
  }

  async connect(
    connection: ContainerConnection,
    report: (logs: string) => void,
    stop: AbortSignal,
  ): Promise<Session> {
    const client = new ContainerClient(connection.address);
    try {
      const end = AbortSignal.any([connection.ended, stop]);
      const { maxConcurrency, watch } = connection;
      await waitUntilReady(client, this.#timing, { maxConcurrency, report, end, watch });
      const description = await describe(client, { report, end });
      const [webhooks, timing] = [this.#webhooks, this.#timing];
      return new CogSession(connection, { client, ...description, webhooks, timing });
    } catch (error) {
      client.close();
      throw error;
    }
  }
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
    try {
      const { input, inCallersTerms } = this.#translated(run);
      const parts = { ...this.#parts, ...(inCallersTerms && { inCallersTerms }) };
      return await new CogRun({ ...run, input }, this.#connection, parts).execute();
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

  /** @throws ServerFailure for what the model does not support */
  #translated({
    call,
    responses,
    input,
  }: Run): Pick<Run, "input"> & Pick<SessionParts, "inCallersTerms"> {
    if (call === "chat_completions") return { input: translated(() => strictChat(input)) };
    if (call === "responses" && responses !== "chat" && !this.#parts.chatOnly)
      return { input: translated(() => withPlainTools(input)) };
    if (!isTranslated(call)) return { input };
    return {
      input: chatBody(call, input),
      inCallersTerms: (refusal) => inCallersTerms(call, refusal, input),
    };
  }

  async shutdown(): Promise<void> {
    const call = { method: "POST", path: "/shutdown", timeoutMs: ANSWER_MS } as const;
    // A server without this endpoint, or one that is gone, gets a signal next.
    await this.#parts.client.call(call).catch(() => undefined);
  }

  describe(): Promise<ServerDescription | undefined> {
    return describeServer(this.#parts.client);
  }

  close(): void {
    this.#parts.client.close();
  }
}
