/**
 * One run in an OpenAI-compatible server: how it ends, and what that means for the container. It
 * has no deadline of its own; `stop` and the end of the container close the connection.
 */

import { sleep } from "../../../../src/lib/timeout.ts";
import type { Finish } from "../../../../src/protocol/channel.ts";
import { reasonOf } from "../../lib/error.ts";
import { Failure, failedFinish, internal } from "../../lib/failure.ts";
import { TooLarge } from "../bounded-json.ts";
import type { Outcome, Run } from "../interface.ts";
import { brokenServer, ServerFailure } from "./error.ts";
import { OpenAiExchange } from "./exchange.ts";
import type { SessionParts } from "./session-parts.ts";
import { smallestRequest } from "./smallest-request.ts";

/** Timeouts of the smallest possible request and of a health check. */
const NUDGE_TIMEOUT_MS = 5_000;
const HEALTH_TIMEOUT_MS = 2_000;

export class OpenAiRun {
  readonly #run: Run;
  readonly #parts: SessionParts;
  #output: Finish["output"] = "none";
  /** From the request to the end of the response. */
  #executionSeconds = 0;

  constructor(run: Run, parts: SessionParts) {
    this.#run = run;
    this.#parts = parts;
  }

  async execute(): Promise<Outcome> {
    if (this.#run.stop.aborted) return { finish: this.#canceled, container: "kept" };
    const outcome = await this.#outcome();
    const execution_seconds = this.#executionSeconds;
    return { ...outcome, finish: { ...outcome.finish, execution_seconds } };
  }

  get #canceled(): Finish {
    return { status: "canceled", output: this.#output };
  }

  async #outcome(): Promise<Outcome> {
    try {
      const output = await this.#exchange();
      return { finish: { status: "succeeded", output }, container: "kept" };
    } catch (error) {
      const failure = this.#run.stop.aborted ? undefined : await this.#toFailure(error);
      // The run also counts as stopped if `stop` was aborted while the failure was examined.
      return this.#run.stop.aborted || !failure ? this.#stopped() : this.#failed(failure);
    }
  }

  async #exchange(): Promise<Finish["output"]> {
    const { stop, reporter } = this.#run;
    const exchange = new OpenAiExchange(this.#run, this.#parts, (value, kind, json) => {
      this.#output = kind;
      reporter.output(value, json);
    });
    this.#parts.openRuns.add(this.#run);
    const startedAt = performance.now();
    try {
      return await exchange.run(AbortSignal.any([stop, this.#parts.ended]));
    } finally {
      this.#parts.openRuns.delete(this.#run);
      this.#executionSeconds = (performance.now() - startedAt) / 1e3;
    }
  }

  /** A broken connection is the first sign of a container's end. */
  async #toFailure(error: unknown): Promise<Failure> {
    const { ended, timing } = this.#parts;
    if (error instanceof Failure) return error;
    await sleep(timing.exitNoticeMs, AbortSignal.any([ended, this.#run.stop]));
    if (!ended.aborted) {
      return brokenServer(`the connection to the container broke: ${reasonOf(error)}`);
    }
    return ended.reason instanceof Failure ? ended.reason : internal(String(ended.reason));
  }

  async #failed(failure: Failure): Promise<Outcome> {
    const finish = failedFinish(failure, this.#output);
    if (this.#parts.ended.aborted) return { finish, container: "retired" };
    const isServerFailure = failure instanceof ServerFailure;
    const answered = isServerFailure || failure instanceof TooLarge;
    const inputRejected = isServerFailure && failure.isRefusal && this.#output === "none";
    // A single caller's request, such as a grammar that the server cannot parse, may cause a 500
    // too.
    const notContainersFault = inputRejected || (answered && (await this.#isHealthy()));
    return { finish, container: "kept", inputRejected, notContainersFault };
  }

  async #isHealthy(): Promise<boolean> {
    const { client, health } = this.#parts;
    const call = { method: "GET", path: health, timeoutMs: HEALTH_TIMEOUT_MS } as const;
    return (await client.call(call).catch(() => undefined))?.status === 200;
  }

  async #stopped(): Promise<Outcome> {
    const { ended, release, timing } = this.#parts;
    const isFree = await release.waitUntilFree(() => this.#nudge(), timing.cancelGraceMs, ended);
    if (ended.aborted) return { finish: this.#canceled, container: "retired" };
    return { finish: this.#canceled, container: isFree ? "kept" : "killed" };
  }

  async #nudge(): Promise<void> {
    const { call, input, model } = this.#run;
    const { path, type, body } = smallestRequest(call, { ...input, model }, this.#parts.model);
    const request = { method: "POST", path, headers: { "content-type": type }, body } as const;
    await this.#parts.client
      .call({ ...request, timeoutMs: NUDGE_TIMEOUT_MS })
      // The response does not matter, only that the server has worked.
      .catch(() => undefined);
  }
}
