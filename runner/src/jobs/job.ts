/**
 * The life of one job: its input, then the run and the channel in parallel, then the result. The
 * slot is free once the executor is done and the prediction has the result or no longer wants it.
 */
import type { Finish, RunError } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Job as JobOrder, RunnerSettings } from "../../../src/protocol/runner.ts";
import { Channel, type ChannelEnd } from "../../../src/run/channel.ts";
import { Reporter } from "../../../src/run/reporter.ts";
import type { ControlPlane } from "../control-plane/client.ts";
import { SocketConnection } from "../control-plane/connection.ts";
import { retryCall } from "../control-plane/json-client.ts";
import { ControlPlaneError } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";
import { OfRun } from "../lib/log-ring.ts";
import type { Reservation } from "./executor.ts";

export interface JobOptions {
  order: JobOrder;
  reservation: Reservation;
  controlPlane: Pick<ControlPlane, "channel" | "finish" | "input">;
  settings: RunnerSettings;
  /** Called with the receipt that the prediction gives for this attempt. */
  onReceipt: (receipt: string) => void;
  log: Log;
}

/** About 8 s in all, during which the channel is open. */
const INPUT_RETRY = { attempts: 6, baseMs: 250, maxMs: 4_000 };

export class Job {
  readonly id: string;
  /** The number of its hand-out. */
  readonly handout: number;
  readonly #options: JobOptions;
  readonly #log: Log;
  readonly #cancel = new AbortController();
  readonly #abandon = new AbortController();
  readonly #reporter: Reporter;
  readonly #channel: Channel;
  readonly #claimedAt = performance.now();
  /** Why this runner stopped the run; reported instead of the run's result. */
  #stopped: RunError | undefined;

  constructor(options: JobOptions) {
    const { order, controlPlane, settings, log } = options;
    this.id = order.prediction_id;
    this.handout = order.handout;
    this.#options = options;
    const { prediction_id: prediction, attempt, traceparent } = order;
    const trace = traceparent?.split("-")[1];
    this.#log = log.with({ prediction, attempt, ...(trace !== undefined && { trace }) });
    this.#reporter = new Reporter({
      limits: order.limits,
      onChange: () => this.#channel.notify(),
      onBreach: (message) => this.#stop({ source: "external", message }),
    });
    this.#channel = new Channel({
      connect: (timing, handlers) =>
        new SocketConnection(controlPlane.channel(order.lease), timing, handlers),
      post: (frame) => controlPlane.finish(order.lease, frame),
      settings,
      outbox: this.#reporter,
      onReceipt: options.onReceipt,
      onCancel: (reason) => {
        this.#log.info("cancel requested", { reason });
        this.#cancel.abort();
      },
    });
  }

  /** Resolves when the slot is free. Never rejects. */
  async run(): Promise<void> {
    this.#channel.open(streams(this.#options.order));
    const work = this.#work();
    const end = await this.#channel.ended;
    // A finished run has ended. An explicit reason: the default one captures a stack trace.
    if (end.kind !== "finished") this.#abandon.abort(end.kind);
    await work;
    this.#options.reservation.leave();
    this.#logEnd(end);
  }

  /** Releases the job unless the model has started to work on it. */
  releaseUnstarted(reason: string): void {
    if (!this.#reporter.started) this.release(reason);
  }

  /**
   * Ends the run and releases the job, unless its result is being sent. A run that has produced
   * output is not released: on another runner its readers would get the output twice.
   */
  release(reason: string): void {
    if (this.#reporter.finished) return;
    if (!this.#reporter.hasOutput) this.#channel.release(reason);
    this.#stop({ source: "internal", message: `The run was stopped: ${reason}.` });
  }

  #stop(error: RunError): void {
    this.#stopped ??= error;
    this.#abandon.abort();
  }

  async #work(): Promise<void> {
    if (this.#abandon.signal.aborted) return;
    const { order, reservation } = this.#options;
    const cancel = this.#cancel.signal;
    const abandon = this.#abandon.signal;
    try {
      const input = order.input ?? (await this.#fetchInput(AbortSignal.any([cancel, abandon])));
      const finish = await reservation.run({ ...order, input }, this.#reporter, {
        cancel,
        abandon,
        claimedAt: this.#claimedAt,
      });
      const { hasFailedStart = false, ...end } = finish;
      if (hasFailedStart && end.error && !this.#stopped)
        this.#channel.release(end.error.message, true);
      else this.#reporter.finish(this.#judge(end));
    } catch (error) {
      if (!cancel.aborted && !abandon.aborted)
        this.#log.error("job failed", { error: new OfRun(error) });
      this.#reporter.finish(cancel.aborted ? CANCELED : failed(error));
    }
  }

  #fetchInput(signal: AbortSignal): Promise<Record<string, Json>> {
    const { order, controlPlane } = this.#options;
    return retryCall(() => controlPlane.input(order.lease, signal), { ...INPUT_RETRY, signal });
  }

  /** Returns the executor's result, corrected by facts that only the job knows. */
  #judge(finish: Finish): Finish {
    if (this.#stopped) return { ...finish, status: "failed", error: this.#stopped };
    if (finish.status === "canceled" && !this.#cancel.signal.aborted) {
      const message = "The container stopped the run without a cancel request";
      return { ...finish, status: "failed", error: { source: "internal", message } };
    }
    return finish;
  }

  #logEnd(end: ChannelEnd): void {
    const seconds = Number(((performance.now() - this.#claimedAt) / 1000).toFixed(3));
    if (end.kind === "finished") {
      const { status, error } = end.finish;
      this.#log.info(status, { seconds, source: error?.source });
    } else {
      this.#log.warn(end.kind, { seconds, reason: "reason" in end ? end.reason : undefined });
    }
  }
}

/** Whether the caller asked for a stream. */
const streams = ({ call, input }: JobOrder) => call !== null && input?.stream === true;

const CANCELED: Finish = { status: "canceled", output: "none" };

/** The details of a defect go to the runner's log; the prediction's owner cannot act on them. */
const failed = (error: unknown): Finish => ({
  status: "failed",
  output: "none",
  error: {
    source: "internal",
    message:
      error instanceof ControlPlaneError
        ? "The runner could not fetch the input"
        : "Internal error of the runner",
  },
});
