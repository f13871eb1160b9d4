/**
 * One session of the runner with the control plane: it polls for jobs and reports the runner's state, until
 * the runner stops or the control plane ends the session.
 */
import type {
  Job as JobOrder,
  Machine,
  SessionRequest,
  SessionResponse,
} from "../../src/protocol/runner.ts";
import { readLoad } from "./check/hardware.ts";
import type { ControlPlane } from "./control-plane/client.ts";
import { Poller } from "./control-plane/poller.ts";
import { Snapshots } from "./control-plane/snapshots.ts";
import { type RunnerState, Telemetry } from "./control-plane/telemetry.ts";
import type { GpuMeter } from "./devices/gpu-meter.ts";
import type { Executor } from "./jobs/executor.ts";
import { Job } from "./jobs/job.ts";
import type { Slots } from "./jobs/slots.ts";
import type { SnapshotSource } from "./jobs/snapshot-source.ts";
import { messageOf } from "./lib/error.ts";
import type { Log } from "./lib/log.ts";
import type { LogRing } from "./lib/log-ring.ts";

/** Limits of the telemetry and claim requests. */
const MAX_WARM = 200;
const MAX_RUNNING = 1_000;
const MAX_IMAGES = 500;

export interface SessionOptions {
  runner: Pick<SessionRequest, "name" | "hardware" | "engine" | "slots">;
  machine: Machine;
  controlPlane: ControlPlane;
  executor: Executor;
  meter: Pick<GpuMeter, "readings">;
  slots: Slots;
  source: SnapshotSource;
  log: Log;
  /** The last lines of the log, which the session sends on request. */
  ring: LogRing;
  /** Aborted when the session must claim no more jobs, finish the running ones, and end. */
  stop: AbortSignal;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #session: SessionResponse;
  readonly #snapshots: Snapshots;
  readonly #poller: Poller;
  readonly #telemetry: Telemetry;
  #isSendingLog = false;

  constructor(session: SessionResponse, options: SessionOptions) {
    this.#options = options;
    this.#session = session;
    this.#snapshots = this.#makeSnapshots();
    this.#poller = this.#makePoller();
    this.#telemetry = this.#makeTelemetry();
  }

  /** @param jobs whether it may be which jobs the runner has */
  changed(jobs: boolean): void {
    this.#snapshots.changed();
    if (!jobs) return;
    this.#poller.wake();
    this.#telemetry.wake();
  }

  /**
   * @param drain finishes the jobs, once no more are claimed
   * @throws when the control plane has ended it
   */
  async run(drain: () => Promise<void>): Promise<void> {
    const { slots, log, stop } = this.#options;
    const [poller, telemetry] = [this.#poller, this.#telemetry];
    const end = new AbortController();
    const reporting = Promise.race([telemetry.run(end.signal), this.#snapshots.run(end.signal)]);
    const polling = poller.run(AbortSignal.any([stop, end.signal]));
    try {
      await Promise.race([polling, reporting]);
      log.info("draining", { running: slots.ids.length });
      // First, so that no released job is handed to this runner again.
      await telemetry.announce("draining");
      await Promise.race([drain(), reporting]);
      await telemetry.announce("stopped");
    } finally {
      end.abort();
      await Promise.allSettled([polling, reporting]);
    }
  }

  /** Snapshots report changes between two polls. */
  #makeSnapshots(): Snapshots {
    const { controlPlane, executor, source, log } = this.#options;
    const { runner_id, session, pool } = this.#session;
    return new Snapshots({
      send: async (signal) => {
        const snapshot = source.take();
        const answer = await controlPlane.reportState(
          { runner_id, session, pool, snapshot },
          signal,
        );
        source.acknowledged(snapshot);
        executor.keep(answer.keep ?? [], snapshot.containers);
        if (answer.log) void this.#sendLog();
        return answer;
      },
      log,
    });
  }

  /** Sends the log once, however many answers ask for it meanwhile; the service asks again for a lost one. */
  async #sendLog(): Promise<void> {
    if (this.#isSendingLog) return;
    this.#isSendingLog = true;
    const { controlPlane, ring, log } = this.#options;
    const { runner_id, session, pool } = this.#session;
    try {
      await controlPlane.sendLog({ runner_id, session, pool, lines: ring.lines });
    } catch (error) {
      log.warn("sending the log failed", { error: messageOf(error) });
    } finally {
      this.#isSendingLog = false;
    }
  }

  #makePoller(): Poller {
    const { controlPlane, executor, slots, source, log } = this.#options;
    const { runner_id, session, pool, settings } = this.#session;
    return new Poller({
      hasRoom: () => slots.free > 0,
      claim: async (signal) => {
        const snapshot = source.take();
        this.#snapshots.reported();
        const images = executor.images().slice(0, MAX_IMAGES);
        const request = { runner_id, session, pool, snapshot, images };
        const answer = await controlPlane.claim(request, settings.poll_seconds, signal);
        source.acknowledged(snapshot);
        executor.keep(answer.keep ?? [], snapshot.containers);
        if (answer.log) void this.#sendLog();
        return answer.jobs;
      },
      onJob: (order) => {
        this.#start(order);
        this.#snapshots.changed();
      },
      log,
    });
  }

  /** Starts the job. A job without a reservation is declined before its channel is opened. */
  #start(order: JobOrder): void {
    const { executor, controlPlane, slots, source, log } = this.#options;
    const { settings } = this.#session;
    const { handout, stop } = order;
    source.received(handout);
    const reservation = executor.reserve(order, stop);
    if (typeof reservation === "string") {
      log.info("declined", { prediction: order.prediction_id, reason: reservation });
      return source.declined({ handout, reason: reservation });
    }
    const onReceipt = (receipt: string) => {
      source.connected(receipt);
      this.#snapshots.changed();
    };
    slots.start(new Job({ order, reservation, controlPlane, settings, onReceipt, log }));
  }

  #makeTelemetry(): Telemetry {
    const { runner, meter, controlPlane, executor, slots, log, stop } = this.#options;
    const { runner_id, session, settings } = this.#session;
    const poller = this.#poller;
    let paused = false;
    const telemetry = new Telemetry({
      intervalMs: settings.telemetry_seconds * 1000,
      state: (): RunnerState => ({
        runner_id,
        session,
        state: stop.aborted || paused ? "draining" : "ready",
        slots: runner.slots,
        running: slots.ids.slice(0, MAX_RUNNING),
        warm: distinct(executor.warm().map(({ model }) => model)).slice(0, MAX_WARM),
      }),
      load: () => readLoad(meter.readings.values()),
      report: (telemetry, signal) => controlPlane.report(telemetry, signal),
      onAnswer: ({ draining }) => {
        if (draining === paused) return;
        paused = draining;
        log.info(draining ? "paused by the control plane" : "resumed by the control plane");
        if (!draining) return poller.resume();
        poller.pause();
        void telemetry.announce("draining");
      },
      log,
    });
    return telemetry;
  }
}

const distinct = (texts: string[]): string[] => [...new Set(texts)];
