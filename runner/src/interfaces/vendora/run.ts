/**
 * One run in a vendora server: how it ends, and what that means for the container. It has no
 * deadline of its own; `stop` and the end of the container close the connection.
 */
import type { Finish } from "../../../../src/protocol/channel.ts";
import { Failure, failed, internal } from "../../containers/failure.ts";
import { reasonOf } from "../../control-plane/error.ts";
import { sleep } from "../../lib/wait.ts";
import { Excess } from "../bounded-json.ts";
import type { Outcome, Run } from "../interface.ts";
import { broken, ServerFailure } from "./error.ts";
import { VendoraExchange } from "./exchange.ts";
import { bodyOf, PATHS } from "./request.ts";
import type { SessionParts } from "./session-parts.ts";

/** Milliseconds: for the smallest request there is, and for a look. */
const NUDGE_MS = 5_000;
const HEALTH_MS = 2_000;

export class VendoraRun {
  readonly #run: Run;
  readonly #parts: SessionParts;
  #output: Finish["output"] = "none";
  /** From the request to the last word that was heard. */
  #seconds = 0;

  constructor(run: Run, parts: SessionParts) {
    this.#run = run;
    this.#parts = parts;
  }

  async toEnd(): Promise<Outcome> {
    if (this.#run.stop.aborted) return { finish: this.#canceled, container: "kept" };
    const outcome = await this.#outcome();
    const execution_seconds = this.#seconds;
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
      const failure = this.#run.stop.aborted ? undefined : await this.#failureOf(error);
      // Also when it was stopped while it was found out what had happened.
      return this.#run.stop.aborted || !failure ? this.#stopped() : this.#failed(failure);
    }
  }

  async #exchange(): Promise<Finish["output"]> {
    const { stop, sink } = this.#run;
    const exchange = new VendoraExchange(this.#run, this.#parts, (value, as) => {
      this.#output = as;
      sink.output(value);
    });
    this.#parts.open.add(this.#run);
    const begun = performance.now();
    try {
      return await exchange.through(AbortSignal.any([stop, this.#parts.gone]));
    } finally {
      this.#parts.open.delete(this.#run);
      this.#seconds = (performance.now() - begun) / 1e3;
    }
  }

  /** A broken connection is the first that is seen of a container's end. */
  async #failureOf(error: unknown): Promise<Failure> {
    const { gone, timing } = this.#parts;
    if (error instanceof Failure) return error;
    await sleep(timing.exitNotice, AbortSignal.any([gone, this.#run.stop]));
    if (!gone.aborted) {
      return broken(`the container broke off: ${reasonOf(error)}`);
    }
    return gone.reason instanceof Failure ? gone.reason : internal(String(gone.reason));
  }

  async #failed(failure: Failure): Promise<Outcome> {
    const finish = failed(failure, this.#output);
    if (this.#parts.gone.aborted) return { finish, container: "retired" };
    const isError = failure instanceof ServerFailure;
    const said = isError || failure instanceof Excess;
    const refused = isError && failure.isRefusal && this.#output === "none";
    // What one caller asks for, as a grammar that it cannot parse, may be 500 too.
    const excused = refused || (said && (await this.#isWell()));
    return { finish, container: "kept", refused, excused };
  }

  async #isWell(): Promise<boolean> {
    const { client, health } = this.#parts;
    const call = { method: "GET", path: health, timeout: HEALTH_MS } as const;
    return (await client.call(call).catch(() => undefined))?.status === 200;
  }

  async #stopped(): Promise<Outcome> {
    const { gone, release, timing } = this.#parts;
    const free = await release.seen(() => this.#nudge(), timing.cancelGrace, gone);
    if (gone.aborted) return { finish: this.#canceled, container: "retired" };
    return { finish: this.#canceled, container: free ? "kept" : "killed" };
  }

  async #nudge(): Promise<void> {
    const call = this.#run.call === "embeddings" ? "embeddings" : "chat_completions";
    const input = { model: this.#run.model, ...SMALLEST[call] };
    const body = JSON.stringify(bodyOf(call, input, this.#parts.model));
    const headers = { "content-type": "application/json" };
    const request = { method: "POST", path: PATHS[call], headers, body } as const;
    await this.#parts.client
      .call({ ...request, timeout: NUDGE_MS })
      // Whatever it answers: what counts is that it has worked.
      .catch(() => undefined);
  }
}

const SMALLEST = {
  embeddings: { input: "." },
  chat_completions: { messages: [{ role: "user", content: "." }], max_tokens: 1 },
};
