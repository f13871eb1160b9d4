/**
 * One run in a Cog container: the request, the reports, and whatever may come between. Several
 * things watch it at the same time; the first that settles it wins and ends the others.
 *
 * A lost last report is not asked for: there is no GET, and PUT of a finished id would start it
 * again. Instead the container's health is believed where it says that nothing is running and
 * nothing of a report is on its way. One that does not answer may just be busy: exit, cancel and
 * the prediction's deadline deal with it.
 */
import type { Finish } from "../../../../src/protocol/channel.ts";
import { external, Failure, failed, internal } from "../../containers/failure.ts";
import { reasonOf } from "../../control-plane/error.ts";
import { backoff } from "../../lib/retry.ts";
import { sleep } from "../../lib/wait.ts";
import { keyDemanded, tooMany } from "../advice.ts";
import { excessOf } from "../bounded-json.ts";
import { type Answer, isUnheard } from "../http.ts";
import type { Connection, Outcome, Run } from "../interface.ts";
import { ServerFailure } from "../vendora/error.ts";
import { Delta } from "./delta.ts";
import { type Health, health, invalid, parseAs, type State, state } from "./protocol.ts";
import type { SessionParts } from "./session-parts.ts";
import { outlives } from "./survival.ts";
import type { Reports } from "./webhooks.ts";

const NO_ROOM = internal("the container has no room for the prediction");

/** A reason at hand: the one that `abort` makes for itself takes a stack trace. */
const OVER = "over";

/** Of silence: a container that is sent 10 MB on a busy machine takes its time to read them. */
const CREATE_MS = 60_000;
const CANCEL_MS = 1_000;
const HEALTH_MS = 2_000;

/** A container may be a moment behind with taking its last run off: about 3 s in all. */
const ROOM_TRIES = 8;
const ROOM_DELAYS = { base: 50, max: 1_000 };

/** Looks in a row at an idle container: 10 s at 5 s apart, for a report that is yet to begin. */
const IDLE_LOOKS = 3;

/** JSON may spell a character in up to three times its bytes (`\u00e9`). */
const JSON_GROWTH = 3;
/**
 * For files that come as data URIs, which do not count as output: 48 MiB of them, one of 20 MB
 * twice over. A report is in memory as bytes, as text and as values; larger files are uploaded.
 */
const DATA_URIS = 64 * 1024 ** 2;
const SLACK = 1024 ** 2;

type Refusal = Pick<Outcome, "refused" | "excused" | "untaken">;

export class CogRun {
  readonly #run: Run;
  readonly #connection: Connection;
  readonly #parts: SessionParts;
  readonly #growth: Delta;
  readonly #body: Pick<Run, "id" | "input">;
  readonly #settled = Promise.withResolvers<Outcome>();
  readonly #over = new AbortController();
  #requested: number | undefined;
  /** The container has it, or may have it. */
  #taken = false;

  constructor(run: Run, connection: Connection, parts: SessionParts) {
    this.#run = run;
    this.#connection = connection;
    this.#parts = parts;
    this.#growth = new Delta(run.sink, parts.iterator);
    this.#body = { id: run.id, input: run.input };
  }

  async toEnd(): Promise<Outcome> {
    const { gone, token } = this.#connection;
    const { limits, stop, input } = this.#run;
    const inputBytes = JSON.stringify(input).length;
    const webhook = this.#parts.receiver.expect({
      token,
      // Cog up to 0.16 repeats the input in its reports.
      maxBytes:
        JSON_GROWTH * (limits.output_bytes + limits.logs_bytes + inputBytes) + DATA_URIS + SLACK,
      keep: this.#run.keep,
      report: (body) => this.#report(body),
      fail: (failure) => this.#fail(failure, "retired"),
      distrust: (what) => this.#distrust(what),
    });
    this.#on(gone, () => this.#fail(gone.reason, "retired", this.#unlessTaken));
    const created = this.#create(webhook.url);
    this.#on(stop, () => void this.#stop(created));
    void created.then(() => this.#watchHealth(webhook));
    try {
      return await this.#settled.promise;
    } finally {
      webhook.close();
    }
  }

  #on(signal: AbortSignal, listener: () => void): void {
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { signal: this.#over.signal, once: true });
  }

  async #create(webhook: string): Promise<void> {
    const { stop } = this.#run;
    const events = this.#parts.iterator ? ["output", "logs", "completed"] : ["logs", "completed"];
    const body = JSON.stringify({ ...this.#body, webhook, webhook_events_filter: events });
    for (let tries = 1; ; tries++) {
      if (stop.aborted) return this.#settle({ status: "canceled", output: "none" }, "kept");
      this.#requested ??= performance.now();
      const answer = await this.#put(body);
      if (answer?.status === 202) this.#taken = true;
      if (!answer || answer.status === 202) return;
      if (answer.status !== 409 || tries === ROOM_TRIES) return this.#refused(answer);
      if (!(await sleep(backoff(tries, ROOM_DELAYS), this.#over.signal))) return;
    }
  }

  async #put(body: string): Promise<Answer | undefined> {
    try {
      return await this.#parts.client.call({
        method: "PUT",
        path: `/predictions/${this.#run.id}`,
        // Exactly these: the Go variant compares them as text.
        headers: { "content-type": "application/json", prefer: "respond-async" },
        body,
        timeout: CREATE_MS,
      });
    } catch (error) {
      const failure = external(`the container did not take the prediction: ${reasonOf(error)}`);
      // What only has not answered may have taken it all the same.
      if (!isUnheard(error)) this.#taken = true;
      const { exitNotice } = this.#parts.timing;
      if (await sleep(exitNotice, this.#over.signal)) {
        this.#fail(failure, "retired", this.#unlessTaken);
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
      const message = `the model refused the input: ${issues?.join("; ") ?? text}`;
      const error = { message, type: "invalid_request_error", param: null, code: null };
      const refusal = new ServerFailure(status, error);
      const refused = { refused: true, excused: true };
      this.#fail(this.#parts.asAsked?.(refusal) ?? refusal, "kept", refused);
    } else if (status === 409) {
      const { maxConcurrency } = this.#connection;
      const failure = maxConcurrency > 1 ? tooMany(maxConcurrency) : NO_ROOM;
      this.#fail(failure, "retired", { untaken: "full" });
    } else if (status === 200 || status === 201) {
      const advice = "it must run predictions asynchronously (Cog 0.7 or later)";
      this.#fail(
        external(`the container answered ${status} where 202 was due: ${advice}`),
        "retired",
      );
    } else if (status === 401 || status === 403) {
      this.#fail(keyDemanded(`/predictions with ${status}`), "retired");
    } else {
      const failure = external(`the container refused the prediction: ${status} ${text}`);
      this.#fail(failure, "retired", status >= 500 ? { untaken: "refused" } : {});
    }
  }

  get #unlessTaken(): Refusal {
    return this.#taken ? {} : { untaken: "refused" };
  }

  #report(body: string): void {
    const reported = parseAs(state, body);
    this.#taken = true;
    if (this.#over.signal.aborted) return;
    const excess = reported ? undefined : excessOf(body);
    if (excess) {
      this.#fail(excess, "retired");
    } else if (!reported) {
      this.#distrust("something that is not the state of a prediction");
    } else if (reported.id !== this.#run.id) {
      this.#distrust("another prediction's state");
    } else if (reported.status === "starting" || reported.status === "processing") {
      this.#growth.add(reported);
    } else {
      this.#end(reported, reported.status);
    }
  }

  #end(reported: State, status: Finish["status"]): void {
    const output = this.#growth.end(reported);
    const wanted = status !== "canceled" || this.#run.stop.aborted;
    if (status === "failed") {
      const message = reported.error || "the model failed without saying why";
      this.#settle(failed(external(message), output), "kept", { verdict: this.#verdict(message) });
    } else if (wanted) {
      this.#settle({ status, output }, "kept");
    } else {
      const failure = external("the container canceled the prediction, which nobody had asked for");
      this.#settle(failed(failure, output), "kept");
    }
  }

  async #verdict(error: string): Promise<"kept" | "retired"> {
    const { client, timing } = this.#parts;
    const { gone } = this.#connection;
    return (await outlives(error, client, timing, gone)) ? "kept" : "retired";
  }

  async #stop(created: Promise<void>): Promise<void> {
    const enforced = sleep(this.#parts.timing.cancelGrace, this.#over.signal);
    // Before the container knows the run, it would answer that there is none.
    await created;
    const path = `/predictions/${this.#run.id}/cancel`;
    if (!this.#over.signal.aborted) {
      const call = { method: "POST", path, timeout: CANCEL_MS } as const;
      // Whatever it answers: what counts is that the run ends.
      await this.#parts.client.call(call).catch(() => undefined);
    }
    if (await enforced) {
      this.#settle({ status: "canceled", output: this.#growth.output }, "killed");
    }
  }

  async #watchHealth(reports: Reports): Promise<void> {
    let idle = 0;
    let count = 0;
    while (await sleep(this.#parts.timing.healthPoll, this.#over.signal)) {
      const call = { method: "GET", path: "/health-check", timeout: HEALTH_MS } as const;
      const answer = await this.#parts.client.call(call).catch(() => undefined);
      const seen = answer && parseAs(health, answer.body);
      if (seen?.status === "DEFUNCT" || seen?.status === "SETUP_FAILED") {
        this.#fail(external(`the container broke down (${seen.status})`), "retired");
      }
      const quiet = !reports.coming && reports.count === count;
      count = reports.count;
      idle = quiet && seen && this.#isIdle(seen) ? idle + 1 : 0;
      if (idle === IDLE_LOOKS) {
        this.#fail(internal("the container is idle and has not reported a result"), "retired");
      }
    }
  }

  /** READY means idle only where there is room for one; with room for more, the count says it. */
  #isIdle({ status, concurrency }: Health): boolean {
    const one = this.#connection.maxConcurrency === 1;
    return status === "READY" && (concurrency ? concurrency.current === 0 : one);
  }

  #distrust(what: string): void {
    this.#fail(external(`the container reported ${what}`), "retired");
  }

  /** What goes wrong after a cancel has at least stopped the run. */
  #fail(reason: unknown, container: Outcome["container"], refusal: Refusal = {}): void {
    const { output } = this.#growth;
    const failure = reason instanceof Failure ? reason : internal(String(reason));
    const stopped = this.#run.stop.aborted;
    const finish: Finish = stopped ? { status: "canceled", output } : failed(failure, output);
    this.#settle(finish, container, stopped ? {} : refusal);
  }

  #settle(finish: Finish, container: Outcome["container"], more: Partial<Outcome> = {}): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort(OVER);
    const since = this.#requested;
    const times =
      since === undefined ? {} : { execution_seconds: (performance.now() - since) / 1e3 };
    this.#settled.resolve({ ...more, finish: { ...finish, ...times }, container });
  }
}
