/**
 * One run in a Cog container: the request, the reports, and everything that may happen in between.
 * Several watchers run in parallel; the first one that settles the run ends the others.
 *
 * A lost final report cannot be requested: there is no GET, and PUT of a finished id would start it
 * again. Instead the health check is trusted when it says that nothing is running and no report is
 * arriving. A container that does not respond may just be busy: its exit, a cancel or the
 * prediction's deadline handles that.
 */

import { exactText } from "../../../../src/lib/exact-json.ts";
import { objectText } from "../../../../src/lib/json-splice.ts";
import { backoffMs } from "../../../../src/lib/retry.ts";
import { onAbort, sleep } from "../../../../src/lib/timeout.ts";
import type { Finish } from "../../../../src/protocol/channel.ts";
import {
  findExcess,
  nonFiniteNumbers,
  nonFiniteText,
  parseAs,
} from "../../../../src/run/bounded-json.ts";
import {
  external,
  Failure,
  failedFinish,
  internal,
  sentence,
} from "../../../../src/run/failure.ts";
import { ServerFailure } from "../../../../src/run/openai/error.ts";
import { reasonOf } from "../../lib/error.ts";
import { type Answer, type ContainerClient, isConnectionError } from "../container-client.ts";
import {
  apiKeyRequired,
  type ContainerConnection,
  concurrencyTooHigh,
  type Outcome,
  type Run,
  type Timing,
  traceHeaders,
} from "../interface.ts";
import { Delta } from "./delta.ts";
import type { Description } from "./description.ts";
import { HealthWatch, survivesFailure } from "./health-watch.ts";
import { invalid, type State, state } from "./protocol.ts";
import type { CogWebhooks, WebhookEndpoint } from "./webhooks.ts";

const VALIDATE_FIRST =
  "Send the header Validate-Input: true to reject invalid input before the run starts.";

const NO_ROOM = internal("the container is at capacity");

/** The explicit reason avoids the default one, which captures a stack trace. */
const OVER = "over";

/** A container that gets 10 MB on a busy machine takes a while to read them. */
const CREATE_TIMEOUT_MS = 60_000;
const CANCEL_TIMEOUT_MS = 1_000;

/** A container may be slow to notice that its last run has ended: the attempts take about 3 s in all. */
const CREATE_ATTEMPTS = 8;
const CREATE_DELAYS = { baseMs: 50, maxMs: 1_000 };

/** JSON may encode a character in up to three times its bytes (`\u00e9`). */
const JSON_GROWTH = 3;
/**
 * Room for files in data URIs, which do not count as output: 48 MiB decoded, for example one of 20 MB twice.
 * A report is in memory as bytes, text and values; larger files are uploaded instead.
 */
const DATA_URI_BYTES = 64 * 1024 ** 2;
const SLACK_BYTES = 1024 ** 2;

type Refusal = Pick<Outcome, "inputRejected" | "notContainersFault" | "notAccepted">;

export class CogRun {
  readonly #run: Run;
  readonly #connection: ContainerConnection;
  readonly #parts: SessionParts;
  readonly #delta: Delta;
  readonly #settled = Promise.withResolvers<Outcome>();
  readonly #settledSignal = new AbortController();
  #health: HealthWatch | undefined;
  #requested: number | undefined;
  /** The container has accepted the run, or may have. */
  #accepted = false;

  constructor(run: Run, connection: ContainerConnection, parts: SessionParts) {
    this.#run = run;
    this.#connection = connection;
    this.#parts = parts;
    this.#delta = new Delta(run.reporter, parts.iterator);
  }

  async execute(): Promise<Outcome> {
    const { ended, token } = this.#connection;
    const { limits, stop } = this.#run;
    const input = exactText(this.#run.input);
    const webhook = this.#parts.webhooks.expect({
      token,
      // Cog up to 0.16 repeats the input in its reports.
      maxBytes:
        JSON_GROWTH * (limits.output_bytes + limits.logs_bytes + input.length) +
        DATA_URI_BYTES +
        SLACK_BYTES,
      saveFile: this.#run.saveFile,
      report: (body) => this.#report(body),
      fail: (failure) => this.#fail(failure, "retired"),
      distrust: (what) => this.#distrust(what),
    });
    const ignoreEnd = onAbort(ended, () =>
      this.#fail(ended.reason, "retired", this.#unlessAccepted),
    );
    const created = this.#create(input, webhook.url);
    const ignoreStop = onAbort(stop, () => void this.#stop(created));
    void created.then(() => this.#watchHealth(webhook));
    try {
      return await this.#settled.promise;
    } finally {
      ignoreEnd();
      ignoreStop();
      this.#health?.end();
      webhook.close();
    }
  }

  /** @param input JSON text: it may be large, and is made only once */
  async #create(input: string, webhook: string): Promise<void> {
    const { id, stop } = this.#run;
    const events = this.#parts.iterator ? ["output", "logs", "completed"] : ["logs", "completed"];
    const trace = traceHeaders(this.#run);
    // Cog 0.14.11 and later give the context to the model: current_scope().context.
    const context = trace.traceparent === undefined ? {} : { context: trace };
    const head = { id, webhook, webhook_events_filter: events, ...context };
    const body = objectText(head, { input });
    for (let tries = 1; ; tries++) {
      if (stop.aborted) return this.#settle({ status: "canceled", output: "none" }, "kept");
      this.#requested ??= performance.now();
      const answer = await this.#put(body);
      if (answer?.status === 202) this.#accepted = true;
      if (!answer || answer.status === 202) return;
      if (answer.status !== 409 || tries === CREATE_ATTEMPTS) return this.#refused(answer);
      if (!(await sleep(backoffMs(tries, CREATE_DELAYS), this.#settledSignal.signal))) return;
    }
  }

  async #put(body: string): Promise<Answer | undefined> {
    try {
      return await this.#parts.client.call({
        method: "PUT",
        path: `/predictions/${this.#run.id}`,
        // Exactly these two: the Go variant compares them as text.
        headers: {
          "content-type": "application/json",
          prefer: "respond-async",
          ...traceHeaders(this.#run),
        },
        body,
        timeoutMs: CREATE_TIMEOUT_MS,
      });
    } catch (error) {
      const failure = external(`the container did not accept the prediction: ${reasonOf(error)}`);
      // A container that did not respond may have accepted the run anyway.
      if (!isConnectionError(error)) this.#accepted = true;
      const { exitNoticeMs } = this.#parts.timing;
      if (await sleep(exitNoticeMs, this.#settledSignal.signal)) {
        this.#fail(failure, "retired", this.#unlessAccepted);
      }
      return undefined;
    }
  }

  #refused({ status, body }: Answer): void {
    const text = body.slice(0, 2_000);
    if (status === 422) {
      const issues = parseAs(invalid, body)?.detail.map(
        ({ loc, msg }) => `${loc.join(".")}: ${msg}`,
      );
      const { inCallersTerms } = this.#parts;
      const advice = inCallersTerms ? "" : ` ${VALIDATE_FIRST}`;
      const why = sentence(`The model rejected the input: ${issues?.join("; ") ?? text}`);
      const message = `${why}${advice}`;
      const error = { message, type: "invalid_request_error", param: null, code: null };
      const refusal = new ServerFailure(status, error);
      const rejected = { inputRejected: true, notContainersFault: true };
      this.#fail(inCallersTerms?.(refusal) ?? refusal, "kept", rejected);
    } else if (status === 409) {
      const { maxConcurrency } = this.#connection;
      const failure = maxConcurrency > 1 ? concurrencyTooHigh(maxConcurrency) : NO_ROOM;
      this.#fail(failure, "retired", { notAccepted: "full" });
    } else if (status === 200 || status === 201) {
      const advice = "It must run predictions asynchronously (Cog 0.7 or later)";
      this.#fail(
        external(`the container responded with ${status} instead of 202. ${advice}`),
        "retired",
      );
    } else if (status === 401 || status === 403) {
      this.#fail(apiKeyRequired(`/predictions with ${status}`), "retired");
    } else {
      const failure = external(`the container rejected the prediction: ${status} ${text}`);
      this.#fail(failure, "retired", status >= 500 ? { notAccepted: "refused" } : {});
    }
  }

  get #unlessAccepted(): Refusal {
    return this.#accepted ? {} : { notAccepted: "refused" };
  }

  #report(body: string): void {
    const reported = parseAs(state, body);
    this.#accepted = true;
    if (this.#settledSignal.signal.aborted) return;
    const excess = reported ? undefined : findExcess(body);
    if (excess) {
      this.#fail(excess, "retired");
    } else if (!reported && this.#failsForNumber(body)) {
      return;
    } else if (!reported) {
      this.#distrust("something other than the state of a prediction");
    } else if (reported.id !== this.#run.id) {
      this.#distrust("another prediction's state");
    } else if (reported.status === "starting" || reported.status === "processing") {
      this.#delta.add(reported, body);
    } else {
      this.#end(reported, reported.status, body);
    }
  }

  /** NaN is the model's fault, and the container survives it; the run fails once it has ended. */
  #failsForNumber(body: string): boolean {
    const found = nonFiniteNumbers(body);
    const reported = found && parseAs(state, found.text);
    if (!found || reported?.id !== this.#run.id) return false;
    if (reported.status === "starting" || reported.status === "processing") return true;
    this.#fail(external(nonFiniteText(found)), "kept");
    return true;
  }

  #end(reported: State, status: Finish["status"], body: string): void {
    const output = this.#delta.end(reported, body);
    const expected = status !== "canceled" || this.#run.stop.aborted;
    if (status === "failed") {
      const message = reported.error || "The model failed without an error message.";
      this.#settle(failedFinish(external(message, { isQuoted: true }), output), "kept", {
        verdict: this.#verdict(message),
      });
    } else if (expected) {
      this.#settle({ status, output }, "kept");
    } else {
      const failure = external("the container canceled the prediction without a request");
      this.#settle(failedFinish(failure, output), "kept");
    }
  }

  async #verdict(error: string): Promise<"kept" | "retired"> {
    const { client, timing } = this.#parts;
    const { ended } = this.#connection;
    return (await survivesFailure(error, client, timing, ended)) ? "kept" : "retired";
  }

  async #stop(created: Promise<void>): Promise<void> {
    const graceOver = sleep(this.#parts.timing.cancelGraceMs, this.#settledSignal.signal);
    // The container would respond with 404 before it knows the run.
    await created;
    const path = `/predictions/${this.#run.id}/cancel`;
    if (!this.#settledSignal.signal.aborted) {
      const call = { method: "POST", path, timeoutMs: CANCEL_TIMEOUT_MS } as const;
      // The response does not matter, only that the run ends.
      await this.#parts.client.call(call).catch(() => undefined);
    }
    if (await graceOver) {
      this.#settle({ status: "canceled", output: this.#delta.output }, "killed");
    }
  }

  #watchHealth(reports: WebhookEndpoint): void {
    if (this.#settledSignal.signal.aborted) return;
    const { client, timing } = this.#parts;
    this.#health = new HealthWatch({
      client,
      reports,
      maxConcurrency: this.#connection.maxConcurrency,
      pollMs: timing.healthPollMs,
      onFailure: (failure) => this.#fail(failure, "retired"),
    });
  }

  #distrust(what: string): void {
    this.#fail(external(`the container reported ${what}`), "retired");
  }

  /** A failure after a cancel at least means that the run has stopped. */
  #fail(reason: unknown, container: Outcome["container"], refusal: Refusal = {}): void {
    const { output } = this.#delta;
    const failure = reason instanceof Failure ? reason : internal(String(reason));
    const stopped = this.#run.stop.aborted;
    const finish: Finish = stopped ? { status: "canceled", output } : failedFinish(failure, output);
    this.#settle(finish, container, stopped ? {} : refusal);
  }

  #settle(finish: Finish, container: Outcome["container"], more: Partial<Outcome> = {}): void {
    if (this.#settledSignal.signal.aborted) return;
    this.#settledSignal.abort(OVER);
    const since = this.#requested;
    const times =
      since === undefined ? {} : { execution_seconds: (performance.now() - since) / 1e3 };
    this.#settled.resolve({ ...more, finish: { ...finish, ...times }, container });
  }
}

export interface SessionParts extends Description {
  client: ContainerClient;
  webhooks: CogWebhooks;
  timing: Timing;
  /** Rewords a refusal for a caller whose request was translated. */
  inCallersTerms?: (refusal: ServerFailure) => ServerFailure;
}
