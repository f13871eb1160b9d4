/**
 * The life of the runner: one session with the control plane after another; the jobs, which outlive
 * sessions; and the drain at the end.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { isOutdated, packageUrl } from "../../src/domain/runners/runner-version.ts";
import { backoffMs } from "../../src/lib/retry.ts";
import { onAbort, sleep } from "../../src/lib/timeout.ts";
import { RUNNER_PROTOCOL, type SessionResponse } from "../../src/protocol/runner.ts";
import { retryCall } from "./control-plane/json-client.ts";
import type { Executor } from "./jobs/executor.ts";
import { Slots } from "./jobs/slots.ts";
import { SnapshotSource } from "./jobs/snapshot-source.ts";
import { ControlPlaneError, messageOf, RegistrationRefused, statusOf } from "./lib/error.ts";
import { VERSION } from "./lib/version.ts";
import { Session, type SessionOptions } from "./session.ts";

export interface AgentOptions extends Omit<SessionOptions, "slots" | "source"> {
  executor: Executor;
  /** How long running jobs may go on after `stop`. */
  drainSeconds: number;
  /** Finish the running jobs, however long they take, then end; the next process adopts idle containers. */
  reload: AbortSignal;
  /** End immediately. */
  kill: AbortSignal;
}

/** Registration is retried without limit: the runner has nothing else to do without the control plane. */
const REGISTER_RETRY = { attempts: Number.POSITIVE_INFINITY, baseMs: 500, maxMs: 30_000 };
/** Keeps a control plane that lost all its sessions from being flooded. */
const REREGISTER_DELAY = { baseMs: 1_000, maxMs: 1_000 };
/** Time for the release frames and for the executor to stop its containers. */
const RELEASE_MS = 10_000;

export class Agent {
  readonly slots: Slots;
  readonly #options: AgentOptions;
  /** The ID of this process, which stays the same when the runner registers again. */
  readonly #process = randomUUID();
  readonly #source: SnapshotSource;
  /** `#end` is aborted when the runner must claim no more jobs. */
  readonly #end: AbortSignal;
  /** `#deadline` is aborted when the runner gives up the jobs that still run. */
  readonly #deadline: AbortSignal;
  /** Tells the session that the runner's state changed. @param jobs whether its jobs may have changed */
  #onChange = (_jobs: boolean) => {};
  #drained: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { drainSeconds, reload, stop, kill } = options;
    const drained = new AbortController();
    onAbort(stop, () => setTimeout(() => drained.abort(), drainSeconds * 1_000).unref());
    this.#deadline = AbortSignal.any([kill, drained.signal]);
    this.#end = AbortSignal.any([stop, reload]);
    this.slots = new Slots(options.runner.slots);
    this.#source = new SnapshotSource({ slots: this.slots, executor: options.executor });
  }

  /**
   * Resolves when the runner has stopped; rejects with a message for the operator if it cannot
   * continue.
   */
  async run(): Promise<void> {
    const { executor, reload, stop } = this.#options;
    const end = this.#end;
    executor.onChange = () => this.#onChange(false);
    this.slots.onChange = () => this.#onChange(true);
    await executor.open();
    try {
      while (!end.aborted) {
        const again = await this.#runSession(await this.#register());
        if (!again) return;
        await sleep(backoffMs(1, REREGISTER_DELAY), end);
      }
    } catch (error) {
      if (!end.aborted) throw error;
    } finally {
      await this.#drain();
      await executor.close({ leavesIdle: reload.aborted && !stop.aborted });
    }
  }

  async #register(): Promise<SessionResponse> {
    const { controlPlane, runner, machine, log } = this.#options;
    const end = this.#end;
    const request = {
      protocol: RUNNER_PROTOCOL,
      version: VERSION,
      machine,
      process: this.#process,
      ...runner,
    };
    try {
      const session = await retryCall(() => controlPlane.register(request, end), {
        ...REGISTER_RETRY,
        signal: end,
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
      `this runner (${VERSION}) is out of date; the deployment serves ${latest}. Update with npm install --global "${address}", or start it with npx --yes "${address}"`,
    );
  }

  /** Runs one session. @returns true if the control plane no longer knows the session */
  async #runSession(response: SessionResponse): Promise<boolean> {
    const { runner, log } = this.#options;
    const session = new Session(response, {
      ...this.#options,
      slots: this.slots,
      source: this.#source,
      stop: this.#end,
    });
    this.#onChange = (jobs) => session.changed(jobs);
    try {
      await session.run(() => this.#drain());
      return false;
    } catch (error) {
      switch (statusOf(error)) {
        case 404:
          log.warn("session expired, registering again");
          return true;
        case 409:
          log.warn(
            `another process uses the name ${runner.name}; finishing running jobs, then exiting`,
          );
          return false;
        default:
          throw explainRefusal(error);
      }
    }
  }

  #drain(): Promise<void> {
    this.#drained ??= this.#finishJobs();
    return this.#drained;
  }

  /** Releases the jobs that have not started and waits for the others until the deadline. */
  async #finishJobs(): Promise<void> {
    const deadline = this.#deadline;
    const reason = "the runner is shutting down";
    this.slots.drain(reason);
    const done = new AbortController();
    const allDone = this.slots.idle().finally(() => done.abort());
    const timedOut = deadline.aborted
      ? undefined
      : once(deadline, "abort", { signal: done.signal });
    await Promise.race([allDone, timedOut]).catch(() => undefined);
    this.slots.release(reason);
    await Promise.race([allDone, sleep(RELEASE_MS, done.signal)]).catch(() => undefined);
  }
}

/** Explains to the operator why the control plane rejects this runner. */
function explainRefusal(error: unknown): unknown {
  if (!(error instanceof ControlPlaneError)) return error;
  const reason = {
    401: "the control plane rejected the runner token (create another under Fleet → Runner tokens)",
    403: "the runner token has no permission for this (check --hardware, or create another token)",
    404: "not found (check the URL and that the hardware classes exist)",
    426: "this runner's version does not match the deployment",
  }[error.status ?? 0];
  return new RegistrationRefused(
    `${reason ?? "the control plane refused to register this runner"}: ${error.message}`,
  );
}
