/**
 * The life of the runner: one session with the control plane after another, each with a poller and
 * telemetry; the jobs, which outlive sessions; and the drain at the end.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { isOutdated, packageUrl } from "../../src/domain/runners/runner-version.ts";
import { backoffMs } from "../../src/lib/retry.ts";
import { sleep } from "../../src/lib/timeout.ts";
import {
  type Job as JobOrder,
  type Machine,
  RUNNER_PROTOCOL,
  type SessionRequest,
  type SessionResponse,
} from "../../src/protocol/runner.ts";
import { readLoad } from "./check/hardware.ts";
import type { ControlPlane } from "./control-plane/client.ts";
import {
  ControlPlaneError,
  messageOf,
  RegistrationRefused,
  statusOf,
} from "./control-plane/error.ts";
import { Poller } from "./control-plane/poller.ts";
import { retryCall } from "./control-plane/retry.ts";
import { SnapshotSource } from "./control-plane/snapshot-source.ts";
import { Snapshots } from "./control-plane/snapshots.ts";
import { type RunnerState, Telemetry } from "./control-plane/telemetry.ts";
import type { Executor } from "./jobs/executor.ts";
import { Job } from "./jobs/job.ts";
import { Slots } from "./jobs/slots.ts";
import type { Log } from "./lib/log.ts";
import { VERSION } from "./version.ts";

export interface AgentOptions {
  runner: Pick<SessionRequest, "name" | "hardware" | "engine" | "slots">;
  machine: Machine;
  drainSeconds: number;
  controlPlane: ControlPlane;
  executor: Executor;
  log: Log;
  /** Claim no more jobs, finish the running ones, then end. */
  stop: AbortSignal;
  /** End immediately. */
  kill: AbortSignal;
}

/** Limits of the telemetry and claim requests. */
const MAX_WARM = 200;
const MAX_IMAGES = 500;
/** Without the control plane there is nothing else to do. */
const REGISTER_RETRY = { attempts: Number.POSITIVE_INFINITY, baseMs: 500, maxMs: 30_000 };
/** Keeps a control plane that lost all its sessions from being flooded. */
const REREGISTER_DELAY = { baseMs: 1_000, maxMs: 1_000 };
/** Time for the release frames and for the executor to stop its containers. */
const RELEASE_MS = 10_000;

export class Agent {
  readonly #options: AgentOptions;
  readonly #slots: Slots;
  /** The same each time that it registers. */
  readonly #process = randomUUID();
  readonly #source: SnapshotSource;
  #drained: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#slots = new Slots(options.runner.slots);
    this.#source = new SnapshotSource({ slots: this.#slots, executor: options.executor });
  }

  /**
   * Resolves when the runner has stopped; rejects with a message for the operator if it cannot
   * continue.
   */
  async run(): Promise<void> {
    const { executor, stop, kill } = this.#options;
    await executor.open();
    try {
      while (!stop.aborted) {
        const again = await this.#runSession(await this.#register());
        if (!again) return;
        await sleep(backoffMs(1, REREGISTER_DELAY), stop);
      }
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      await this.#drain(kill);
      await executor.close();
    }
  }

  async #register(): Promise<SessionResponse> {
    const { controlPlane, runner, machine, log, stop } = this.#options;
    const process = this.#process;
    const request = { protocol: RUNNER_PROTOCOL, version: VERSION, machine, process, ...runner };
    try {
      const session = await retryCall(() => controlPlane.register(request, stop), {
        ...REGISTER_RETRY,
        signal: stop,
        onRetry: (error, delay) =>
          log.warn("control plane unavailable", {
            error: messageOf(error),
            retry_ms: Math.round(delay),
          }),
      });
      log.info("registered", { runner: session.runner_id, name: runner.name });
      this.#warnIfOutdated(session);
      return session;
    } catch (error) {
      throw explainRefusal(error);
    }
  }

  /** Logs a warning if the deployment serves a newer runner. */
  #warnIfOutdated({ latest_version: latest }: SessionResponse): void {
    if (latest === undefined || !isOutdated(VERSION, latest)) return;
    const { controlPlane, log } = this.#options;
    const address = packageUrl(controlPlane.url, latest);
    log.warn(
      `out of date: this runner is ${VERSION}, the deployment serves ${latest}. Update with npm install --global "${address}", or start it with npx --yes "${address}"`,
    );
  }

  /** Runs one session. @returns true if the control plane no longer knows it */
  async #runSession(session: SessionResponse): Promise<boolean> {
    const { runner, executor, drainSeconds, log, stop, kill } = this.#options;
    const sessionEnd = new AbortController();
    const snapshots = this.#snapshots(session);
    const poller = this.#poller(session, snapshots);
    const telemetry = this.#telemetry(session, poller);
    const reporting = Promise.race([
      telemetry.run(sessionEnd.signal),
      snapshots.run(sessionEnd.signal),
    ]);
    const polling = poller.run(AbortSignal.any([stop, sessionEnd.signal]));
    this.#slots.onChange = () => {
      poller.wake();
      telemetry.wake();
      snapshots.changed();
    };
    executor.onChange = () => snapshots.changed();
    try {
      await Promise.race([polling, reporting]);
      log.info("draining", { running: this.#slots.ids.length });
      // First, so that no released job is handed to this runner again.
      await telemetry.announce("draining");
      const deadline = AbortSignal.any([kill, AbortSignal.timeout(drainSeconds * 1000)]);
      await Promise.race([this.#drain(deadline), reporting]);
      await telemetry.announce("stopped");
      return false;
    } catch (error) {
      switch (statusOf(error)) {
        case 404:
          log.warn("session unknown to the control plane, registering again");
          return true;
        case 409:
          log.warn(
            `another process runs under the name ${runner.name}; finishing the running jobs, then exiting`,
          );
          return false;
        default:
          throw explainRefusal(error);
      }
    } finally {
      sessionEnd.abort();
      await Promise.allSettled([polling, reporting]);
    }
  }

  /** What changes between two polls. */
  #snapshots({ runner_id, session, pool }: SessionResponse): Snapshots {
    const { controlPlane, log } = this.#options;
    return new Snapshots({
      send: async (signal) => {
        const snapshot = this.#source.take();
        const answer = await controlPlane.tell({ runner_id, session, pool, snapshot }, signal);
        this.#source.told(snapshot);
        return answer;
      },
      log,
    });
  }

  #poller({ runner_id, session, pool, settings }: SessionResponse, snapshots: Snapshots): Poller {
    const { controlPlane, executor, log } = this.#options;
    return new Poller({
      hasRoom: () => this.#slots.free > 0,
      claim: async (signal) => {
        const snapshot = this.#source.take();
        snapshots.told();
        const images = executor.images().slice(0, MAX_IMAGES);
        const request = { runner_id, session, pool, snapshot, images };
        const jobs = await controlPlane.claim(request, settings.poll_seconds, signal);
        this.#source.told(snapshot);
        return jobs;
      },
      onJob: (order) => {
        this.#start(order, settings);
        snapshots.changed();
      },
      log,
    });
  }

  /** What has no place is declined before a channel is opened for it. */
  #start(order: JobOrder, settings: SessionResponse["settings"]): void {
    const { executor, controlPlane, log } = this.#options;
    const { handout, stop } = order;
    this.#source.received(handout);
    const place = executor.place(order, stop);
    if (typeof place === "string") {
      log.info("declined", { prediction: order.prediction_id, reason: place });
      return this.#source.declined({ handout, reason: place });
    }
    const onReceipt = (receipt: string) => this.#source.connected(receipt);
    this.#slots.start(new Job({ order, place, controlPlane, settings, onReceipt, log }));
  }

  #telemetry({ runner_id, session, settings }: SessionResponse, poller: Poller): Telemetry {
    const { runner, machine, controlPlane, executor, log, stop } = this.#options;
    let paused = false;
    const telemetry = new Telemetry({
      intervalMs: settings.telemetry_seconds * 1000,
      state: (): RunnerState => ({
        runner_id,
        session,
        state: stop.aborted || paused ? "draining" : "ready",
        slots: runner.slots,
        running: this.#slots.ids,
        warm: distinct(executor.warm().map(({ model }) => model)).slice(0, MAX_WARM),
      }),
      load: () => readLoad(machine.gpus.length > 0),
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

  #drain(deadline: AbortSignal): Promise<void> {
    this.#drained ??= this.#finishJobs(deadline);
    return this.#drained;
  }

  /** Releases the jobs that have not started and waits for the others until the deadline. */
  async #finishJobs(deadline: AbortSignal): Promise<void> {
    const reason = "the runner is shutting down";
    this.#slots.drain(reason);
    const done = new AbortController();
    const allDone = this.#slots.idle().finally(() => done.abort());
    const timedOut = deadline.aborted
      ? undefined
      : once(deadline, "abort", { signal: done.signal });
    await Promise.race([allDone, timedOut]).catch(() => undefined);
    this.#slots.release(reason);
    await Promise.race([allDone, sleep(RELEASE_MS, done.signal)]).catch(() => undefined);
  }
}

const distinct = (texts: string[]): string[] => [...new Set(texts)];

/** Explains to the operator why the control plane rejects this runner. */
function explainRefusal(error: unknown): unknown {
  if (!(error instanceof ControlPlaneError)) return error;
  const reason = {
    401: "the control plane rejected the runner token (create another under Fleet → Runner tokens)",
    403: "the runner token has no permission for this (check --hardware, or create another token)",
    404: "not found (check the URL and that the hardware classes exist)",
    426: "this runner's version does not match the deployment",
  }[error.status ?? 0];
  const self = `auspex-runner ${VERSION}, protocol ${RUNNER_PROTOCOL}`;
  return new RegistrationRefused(
    `${reason ?? `the control plane rejected ${self}`}: ${error.message}`,
  );
}
